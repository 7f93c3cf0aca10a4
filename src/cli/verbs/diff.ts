import type { Command } from "commander";
import { printable } from "../../util/index.ts";
import { say, sayJson, stream } from "../screen.ts";
import { type CommonOptions, openHome, scope, verb } from "../verb.ts";

type Options = CommonOptions & { readonly stat?: boolean };

export function command(): Command {
  return verb("diff", "What a session's last checkpoint changes against the base of its task.", [
    "holdfast diff 01k",
    "holdfast diff 01k --stat",
    "holdfast diff 01k | git apply",
  ])
    .argument("<session>", "its id, or the beginning of it")
    .option("--stat", "only the names of the files")
    .action(async (prefix: string, options: Options) => {
      const home = await openHome(options);
      const id = await home.resolveId(prefix, scope(options));
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
