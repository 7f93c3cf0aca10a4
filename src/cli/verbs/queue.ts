import type { Command } from "commander";
import { printable } from "../../util/index.ts";
import { ago, clip, note, paint, sayJson, table } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

const ASKED_CHARS = 60;

export function command(): Command {
  return verb(
    "queue",
    "List the tasks that wait in a session, in the order in which they will begin: higher priorities first, then the oldest.",
    ["holdfast queue fix-login", "holdfast queue fix-login --json"],
  )
    .argument("<session>", SESSION_HELP)
    .action(async (prefix: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const { id, label } = await sessionOf(dispatcher.holdfast, prefix, options);
      const { current, waiting } = await dispatcher.queue(id, scope(options));
      if (options.json) return sayJson({ session: id, current, waiting });
      const tellParked = () => {
        if (current?.parked)
          note(
            `task ${current.task} is parked: ${current.parked}; holdfast cancel ${label} ${current.short} ends it`,
          );
      };
      if (waiting.length === 0) {
        note(`no task waits in ${label}`);
        return tellParked();
      }
      const nowMs = dispatcher.home.io.clock.nowMs();
      table([
        ["REQUEST", "PRIORITY", "AGE", "TASK", "WAITS"].map((head) => paint("dim", head)),
        ...waiting.map(({ short, priority, at, asked, why }) => [
          short,
          String(priority),
          ago(at, nowMs),
          clip(asked, ASKED_CHARS),
          printable(why ?? "about to begin"),
        ]),
      ]);
      note(`to cancel one: holdfast cancel ${label} REQUEST`);
      tellParked();
    });
}
