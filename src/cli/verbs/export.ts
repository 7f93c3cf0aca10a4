import { resolve } from "node:path";
import type { Command } from "commander";
import type { Exported } from "../../upkeep/index.ts";
import { present, printable } from "../../util/index.ts";
import { plural } from "../amounts.ts";
import { note, say, sayJson } from "../screen.ts";
import { type CommonOptions, openHome, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & { readonly output?: string; readonly withHome?: boolean };

/** The most files that are named on the terminal; `--json` has all. */
const NAMED = 20;
const AS_THEY_ARE =
  "tasks of this session had values of yours in their environment (--env). The export contains the capsule's files and the agent's own commits unchanged: if the agent wrote such a value into one of them, the export contains it";

export function command(): Command {
  return verb(
    "export",
    "Write a whole session into one file, with a manifest of hashes: history, files, HOME, unread messages, artifacts. The file contains no credentials. Holdfast leaves out files of HOME in which it finds a secret, and names them.",
    [
      "holdfast export fix-login",
      "holdfast export fix-login -o login-timeout.holdfast",
      "holdfast export fix-login --with-home",
    ],
  )
    .argument("<session>", SESSION_HELP)
    .option("-o, --output <file>", "the file to write (default: <session>.holdfast in this directory)")
    .option("--with-home", "include all of HOME, even files in which a secret is found")
    .action(async (prefix: string, options: Options) => {
      const home = await openHome(options);
      const { id, label } = await sessionOf(home, prefix, options);
      const file = resolve(options.output ?? `${label}.holdfast`);
      const exported = await home.exportSession(id, file, {
        ...scope(options),
        ...present({ withHome: options.withHome }),
      });
      tellMissing(exported);
      if (exported.hadValues) note(AS_THEY_ARE);
      if (options.json) sayJson({ file, ...exported });
      else
        say(
          `${printable(file)}: ${plural(exported.head.seq, "record")}, ${plural(exported.files.length, "file")}`,
        );
    });
}

/** The secret itself is never printed. */
function tellMissing({ leftOut, missing }: Exported): void {
  for (const { path, rules } of leftOut.slice(0, NAMED))
    note(`left out of HOME: ${printable(path)} (${rules.map(printable).join(", ")})`);
  if (leftOut.length > NAMED) note(`left out of HOME: ${plural(leftOut.length - NAMED, "more file")}`);
  if (leftOut.length > 0) note("to include them: --with-home");
  for (const { what, why } of missing) note(`not in the export: ${printable(what)}: ${why}`);
}
