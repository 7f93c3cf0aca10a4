import type { Command } from "commander";
import { present } from "../../util/index.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openHome, parseCount, scope, verb } from "../verb.ts";
import { labelOf, SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & { readonly at?: number; readonly name?: string; readonly title?: string };

export function command(): Command {
  return verb(
    "fork",
    "Make a new session with the history and the files of another session up to a turn. The fork inherits no approvals and no token, and has spent nothing.",
    ["holdfast fork fix-login", 'holdfast fork fix-login --at 3 --title "the other way"'],
  )
    .argument("<session>", SESSION_HELP)
    .option(
      "--at <turn>",
      "the last turn that the fork has (default: the last that ended; 0: none)",
      parseCount,
    )
    .option("--name <name>", "the name of the fork (default: made from the title, or from the parent's name)")
    .option("--title <text>", "the title of the fork (default: the parent's)")
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
