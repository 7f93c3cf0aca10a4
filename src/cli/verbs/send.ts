import type { Command } from "commander";
import { HoldfastError } from "../../contract/index.ts";
import { present } from "../../util/index.ts";
import { note, say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { wake } from "../waking.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & {
  readonly from?: string;
  readonly id?: string;
  readonly type?: boolean;
  readonly enter: boolean;
  readonly wake: boolean;
};

export function command(): Command {
  return verb(
    "send",
    "Send a message to a session. It is on disk when this returns, and is taken in once. In a session at rest whose last task was an agent's, the agent goes on with it. An agent in a terminal (run -i) does not read it there: --type types it instead, with Enter behind it.",
    [
      "holdfast send fix-login 'the tests are in test/auth'",
      "holdfast send --from review fix-login 'your turn'",
      "holdfast send --type fix-login 'yes, go on'",
    ],
  )
    .argument("<session>", SESSION_HELP)
    .argument("<text>", "what to say; - reads it from standard input")
    .option("--from <session>", "in the name of another session of yours (default: you)")
    .option("--id <id>", "msg_…: sent again under the same id, it arrives once")
    .option("--type", "type it into the session's terminal, as a paste where the program knows pastes")
    .option(
      "--no-wake",
      "leave it unread in a session that is at rest (default: an agent that is known goes on with it)",
    )
    .option("--no-enter", "with --type: without Enter behind it")
    .action(async (prefix: string, text: string, options: Options) => {
      if (!options.enter && !options.type)
        throw new HoldfastError("usage", "--no-enter goes with --type: a message has no Enter");
      if (options.id !== undefined && options.type)
        throw new HoldfastError(
          "usage",
          "--id is for what lies in an inbox: what is typed can't be taken back",
        );
      const dispatcher = await openDispatcher(options);
      const { holdfast } = dispatcher;
      const { id, label } = await sessionOf(holdfast, prefix, options);
      const from =
        options.from === undefined ? undefined : (await sessionOf(holdfast, options.from, options)).id;
      const words = text === "-" ? await readAll() : text;
      if (options.type) {
        const how = { ...scope(options), ...present({ from }), isEntered: options.enter };
        const typed = await dispatcher.type(id, words, how);
        return options.json ? sayJson({ session: id, ...typed }) : say(typed.message);
      }
      const sent = await dispatcher.send(id, words, {
        ...scope(options),
        ...present({ from, id: options.id }),
      });
      // Only a person wakes a session, never a message of another one.
      const mayWake = options.wake && sent.isNew && !sent.isHeard && from === undefined;
      const isWoken =
        mayWake &&
        (await wake(dispatcher, { id, label }, await holdfast.showSession(id, scope(options)), options));
      if (options.json) return sayJson({ session: id, ...sent, isWoken });
      say(sent.message);
      if (!sent.isNew) return note(`${sent.message} was sent before: this one was not`);
      if (isWoken) return note(`${label} goes on with it: holdfast attach ${label} looks on`);
      if (!sent.isHeard) note(`${label} is at rest: the message is on disk, and taken in when it next runs`);
      if (dispatcher.processOf(id)?.terminal)
        note(
          `the agent of ${label} runs in a terminal and does not read its inbox: the message stays there for one that does; holdfast send --type ${label} … types it`,
        );
    });
}

async function readAll(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
