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
    "Archive old closed sessions, remove what crashes left behind, and report how much disk space that freed. It deletes no session unless you ask for it, and never one that is kept (holdfast keep).",
    ["holdfast gc --dry-run", "holdfast gc --archive-closed-days 7"],
  )
    .option("--dry-run", "only report what would be done")
    .option(
      "--archive-closed-days <n>",
      "archive sessions that were closed at least this many days ago (default: as settings.yaml sets it, else 30)",
      parseCount,
    )
    .option(
      "--delete-archived-days <n>",
      "delete sessions that were archived at least this many days ago (default: as settings.yaml sets it, else never)",
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
        note(`not done: ${action}  ${printable(what)}: ${printable(reason)}`);
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
