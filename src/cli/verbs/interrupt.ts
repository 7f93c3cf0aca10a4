import type { Command } from "commander";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

export function command(): Command {
  return verb("interrupt", "End the turn that a session is at. Its work is kept, and its session goes on.", [
    "holdfast interrupt fix-login",
  ])
    .argument("<session>", SESSION_HELP)
    .action(async (prefix: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const { id, label } = await sessionOf(dispatcher.holdfast, prefix, options);
      await dispatcher.interrupt(id, scope(options));
      if (options.json) sayJson({ session: id });
      else say(`${label} is asked to end its turn`);
    });
}
