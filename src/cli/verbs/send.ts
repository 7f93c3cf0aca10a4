import type { Command } from "commander";
import { present } from "../../util/index.ts";
import { note, say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";

type Options = CommonOptions & { readonly from?: string; readonly id?: string };

export function command(): Command {
  return verb("send", "Send a message to a session. It is on disk when this returns, and is taken in once.", [
    "holdfast send 01k 'the tests are in test/auth'",
    "holdfast send --from 01m 01k 'your turn'",
  ])
    .argument("<session>", "its id, or the beginning of it")
    .argument("<text>", "what to say; - reads it from standard input")
    .option("--from <session>", "in the name of another session of yours (default: you)")
    .option("--id <id>", "msg_…: sent again under the same id, it arrives once")
    .action(async (prefix: string, text: string, options: Options) => {
      const dispatcher = await openDispatcher(options);
      const { holdfast } = dispatcher;
      const id = await holdfast.resolveId(prefix, scope(options));
      const from =
        options.from === undefined ? undefined : await holdfast.resolveId(options.from, scope(options));
      const words = text === "-" ? await readAll() : text;
      const sent = await dispatcher.send(id, words, {
        ...scope(options),
        ...present({ from, id: options.id }),
      });
      if (options.json) return sayJson({ session: id, ...sent });
      say(sent.message);
      if (!sent.isNew) return note(`${sent.message} was sent before: this one was not`);
      if (!sent.isHeard) note(`${id} is at rest: the message is on disk, and taken in when it next runs`);
    });
}

async function readAll(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
