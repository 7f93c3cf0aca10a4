import type { Command } from "commander";
import { present, printable } from "../../util/index.ts";
import { bytes } from "../amounts.ts";
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
    "Archive sessions that were closed long ago, clear what crashes left, and say how much of the disk that gave back. Deletes no session unless told to, and none that is kept (holdfast keep).",
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
      for (const { action, what, why, freedBytes } of result.done)
        say(
          `${options.dryRun ? "would " : ""}${action}  ${printable(what)}  (${why})${gainText(freedBytes)}`,
        );
      for (const { action, what, reason } of result.left)
        note(`left: ${action}  ${printable(what)}: ${printable(reason)}`);
      if (result.done.length + result.left.length === 0) return say("nothing to do");
      const isAll = result.done.every(({ freedBytes }) => freedBytes !== null);
      say(
        options.dryRun
          ? `would free ${isAll ? "" : "at least "}${bytes(result.freedBytes)}`
          : `freed ${bytes(result.freedBytes)}`,
      );
    });
}

const gainText = (freedBytes: number | null) =>
  freedBytes !== null && freedBytes > 0 ? `  ${bytes(freedBytes)}` : "";
