import type { Command } from "commander";
import { present, printable } from "../../util/index.ts";
import { note, say, sayJson } from "../screen.ts";
import { type CommonOptions, homeVerb, openHome, parseCount } from "../verb.ts";

type Options = CommonOptions & {
  readonly dryRun?: boolean;
  readonly archiveClosedDays?: number;
  readonly deleteArchivedDays?: number;
};

export function command(): Command {
  return homeVerb(
    "gc",
    "Archive sessions that were closed long ago, and clear what crashes left. Deletes no session unless told to, and none that is kept (holdfast keep).",
    ["holdfast gc --dry-run", "holdfast gc --archive-closed-days 7"],
  )
    .option("--dry-run", "only say what would be done")
    .option(
      "--archive-closed-days <n>",
      "archive what was closed so long ago (default: as settings.yaml says, else 30)",
      parseCount,
    )
    .option(
      "--delete-archived-days <n>",
      "delete archived sessions that are so old (default: as settings.yaml says, else never)",
      parseCount,
    )
    .action(async (options: Options) => {
      const home = await openHome(options);
      const { archiveClosedDays, deleteArchivedDays } = options;
      const retention = present({ archiveClosedDays, deleteArchivedDays });
      const result = await home.gc({ dryRun: options.dryRun ?? false, retention });
      if (options.json) return sayJson(result);
      for (const { action, what, why } of result.done)
        say(`${options.dryRun ? "would " : ""}${action}  ${printable(what)}  (${why})`);
      for (const { action, what, reason } of result.left)
        note(`left: ${action}  ${printable(what)}: ${printable(reason)}`);
      if (result.done.length + result.left.length === 0) say("nothing to do");
    });
}
