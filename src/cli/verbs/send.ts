import type { Command } from "commander";
import { HoldfastError } from "../../contract/index.ts";
import { isLeftUnread } from "../../dispatch/index.ts";
import { present } from "../../util/index.ts";
import { note, say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
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
    "Send a message to a session's agent. When this command returns, the message is on disk; it is delivered once. If the session is at rest and its last task was an agent's, the agent starts again with the message; if the agent has ended and its work is still being checked or saved, the command waits for that first. An agent in a terminal (run -i) does not read messages: use --type, which types the text into its terminal and presses Enter.",
    [
      "holdfast send fix-login 'the tests are in test/auth'",
      "holdfast send --from review fix-login 'your turn'",
      "holdfast send --type fix-login 'yes, go on'",
    ],
  )
    .argument("<session>", SESSION_HELP)
    .argument("<text>", "the text of the message; - reads it from standard input")
    .option("--from <session>", "send it as another session of yours (default: as you)")
    .option(
      "--id <id>",
      "the message's id, msg_…; a message that is sent twice with the same id arrives once",
    )
    .option("--type", "type the text into the session's terminal, as a paste if the program supports that")
    .option(
      "--no-wake",
      "leave the message unread in a session that is at rest (default: the session's agent starts again with it)",
    )
    .option("--no-enter", "with --type: do not press Enter after the text")
    .action(async (prefix: string, text: string, options: Options) => {
      if (!options.enter && !options.type)
        throw new HoldfastError("usage", "--no-enter needs --type: a message is not typed");
      if (options.id !== undefined && options.type)
        throw new HoldfastError("usage", "--id is for messages in an inbox: leave it out with --type");
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
      // Only a message from a person wakes a session, never one from another session.
      const mayWake = options.wake && sent.isNew && from === undefined;
      const wait = {
        ...scope(options),
        onWait: () =>
          note(
            `The agent of ${label} has finished and its work is being saved. It will then start again with your message.`,
          ),
      };
      const isLeft = mayWake && (await isLeftUnread(dispatcher.home, id, sent.message, wait));
      const isWoken = isLeft && (await wakeSession(dispatcher, id, scope(options)));
      if (options.json) return sayJson({ session: id, ...sent, isWoken });
      say(sent.message);
      if (!sent.isNew) return note(`${sent.message} was sent before: nothing was sent now`);
      if (isWoken) return note(`${label} continues with the message. Watch it: holdfast attach ${label}`);
      if (!sent.isHeard || isLeft)
        note(`${label} is at rest: the message is on disk, and its next task takes it in`);
      if (dispatcher.processOf(id)?.terminal)
        note(
          `the agent of ${label} runs in a terminal and does not read its inbox: the message waits there for an agent that does. To type it into the terminal: holdfast send --type ${label} TEXT`,
        );
    });
}

async function wakeSession(
  ...asked: Parameters<typeof import("../../face/index.ts").wake>
): Promise<boolean> {
  const { wake } = await import("../../face/index.ts");
  return wake(...asked);
}

async function readAll(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
