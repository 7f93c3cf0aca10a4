import type { Command } from "commander";
import { present } from "../../util/index.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openHome, parseCount, scope, verb } from "../verb.ts";

type Options = CommonOptions & { readonly at?: number; readonly title?: string };

export function command(): Command {
  return verb(
    "fork",
    "A new session with the history up to a turn. It inherits no approvals, no token, and nothing that was spent.",
    ["holdfast fork 01k", 'holdfast fork 01k --at 3 --title "the other way"'],
  )
    .argument("<session>", "its id, or the beginning of it")
    .option("--at <turn>", "the last turn that it has (default: the last that ended; 0: none)", parseCount)
    .option("--title <text>", "what the fork is about (default: the parent's)")
    .action(async (prefix: string, options: Options) => {
      const home = await openHome(options);
      const id = await home.resolveId(prefix, scope(options));
      const { at, title } = options;
      const fork = await home.forkSession(id, {
        ...scope(options),
        ...present({ atTurn: at, title }),
      });
      await fork.release();
      if (options.json) sayJson(await home.showSession(fork.id, scope(options)));
      else say(fork.id);
    });
}
