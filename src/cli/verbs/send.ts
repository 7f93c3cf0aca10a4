import type { Command } from "commander";
import { present } from "../../util/index.ts";
import { note, say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & { readonly from?: string; readonly id?: string };

export function command(): Command {
  return verb("send", "Send a message to a session. It is on disk when this returns, and is taken in once.", [
    "holdfast send fix-login 'the tests are in test/auth'",
    "holdfast send --from review fix-login 'your turn'",
  ])
    .argument("<session>", SESSION_HELP)
    .argument("<text>", "what to say; - reads it from standard input")
    .option("--from <session>", "in the name of another session of yours (default: you)")
    .option("--id <id>", "msg_…: sent again under the same id, it arrives once")
    .action(async (prefix: string, text: string, options: Options) => {
      const dispatcher = await openDispatcher(options);
      const { holdfast } = dispatcher;
      const { id, label } = await sessionOf(holdfast, prefix, options);
      const from =
        options.from === undefined ? undefined : (await sessionOf(holdfast, options.from, options)).id;
      const words = text === "-" ? await readAll() : text;
      const sent = await dispatcher.send(id, words, {
        ...scope(options),
        ...present({ from, id: options.id }),
      });
      if (options.json) return sayJson({ session: id, ...sent });
      say(sent.message);
      if (!sent.isNew) return note(`${sent.message} was sent before: this one was not`);
      if (!sent.isHeard) note(`${label} is at rest: the message is on disk, and taken in when it next runs`);
    });
}

async function readAll(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
