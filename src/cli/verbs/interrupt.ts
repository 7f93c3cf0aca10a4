import type { Command } from "commander";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

export function command(): Command {
  return verb("interrupt", "End the open turn of a session. The work is kept, and the session continues.", [
    "holdfast interrupt fix-login",
  ])
    .argument("<session>", SESSION_HELP)
    .action(async (prefix: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const { id, label } = await sessionOf(dispatcher.holdfast, prefix, options);
      await dispatcher.interrupt(id, scope(options));
      if (options.json) sayJson({ session: id });
      else say(`asked ${label} to end its turn`);
    });
}
