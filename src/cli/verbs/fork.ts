import type { Command } from "commander";
import { present } from "../../util/index.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openHome, parseCount, scope, verb } from "../verb.ts";
import { labelOf, SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & { readonly at?: number; readonly name?: string; readonly title?: string };

export function command(): Command {
  return verb(
    "fork",
    "A new session with the history up to a turn. It inherits no approvals, no token, and nothing that was spent.",
    ["holdfast fork fix-login", 'holdfast fork fix-login --at 3 --title "the other way"'],
  )
    .argument("<session>", SESSION_HELP)
    .option("--at <turn>", "the last turn that it has (default: the last that ended; 0: none)", parseCount)
    .option("--name <name>", "what the fork is called (default: made from the title, or the parent's name)")
    .option("--title <text>", "what the fork is about (default: the parent's)")
    .action(async (prefix: string, options: Options) => {
      const home = await openHome(options);
      const { id } = await sessionOf(home, prefix, options);
      const { at, name, title } = options;
      const fork = await home.forkSession(id, {
        ...scope(options),
        ...present({ atTurn: at, name, title }),
      });
      await fork.release();
      if (options.json) sayJson(await home.showSession(fork.id, scope(options)));
      else say(labelOf(fork.state));
    });
}
