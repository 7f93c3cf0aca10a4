import type { Command } from "commander";
import { printable } from "../../util/index.ts";
import { say, sayJson, stream } from "../screen.ts";
import { type CommonOptions, openHome, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & { readonly stat?: boolean };

export function command(): Command {
  return verb("diff", "What a session's last checkpoint changes against the base of its task.", [
    "holdfast diff fix-login",
    "holdfast diff fix-login --stat",
    "holdfast diff fix-login | git apply",
  ])
    .argument("<session>", SESSION_HELP)
    .option("--stat", "only the names of the files")
    .action(async (prefix: string, options: Options) => {
      const home = await openHome(options);
      const { id } = await sessionOf(home, prefix, options);
      const { patch, stat, base, tree, turn } = await home.diffSession(id, scope(options));
      if (options.json)
        sayJson({
          session: id,
          base,
          tree,
          turn,
          ...stat,
          ...(!options.stat && { patch: patch.toString("utf8") }),
        });
      else if (options.stat) for (const path of stat.paths) say(printable(path));
      else stream(process.stdout, patch);
    });
}
