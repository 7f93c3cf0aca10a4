import { resolve } from "node:path";
import type { Command } from "commander";
import { printable } from "../../util/index.ts";
import { plural, say, sayJson } from "../screen.ts";
import { type CommonOptions, openHome, scope, verb } from "../verb.ts";

type Options = CommonOptions & { readonly output?: string };

export function command(): Command {
  return verb("export", "Write everything of a session into one file, with a manifest of hashes.", [
    "holdfast export 01k",
    "holdfast export 01k -o login-timeout.holdfast",
  ])
    .argument("<session>", "its id, or the beginning of it")
    .option("-o, --output <file>", "where to (default: <session>.holdfast here)")
    .action(async (prefix: string, options: Options) => {
      const home = await openHome(options);
      const id = await home.resolveId(prefix, scope(options));
      const file = resolve(options.output ?? `${id}.holdfast`);
      const manifest = await home.exportSession(id, file, scope(options));
      if (options.json) sayJson({ file, ...manifest });
      else
        say(
          `${printable(file)}: ${plural(manifest.head.seq, "record")}, ${plural(manifest.files.length, "file")}`,
        );
    });
}
