import type { Command } from "commander";
import type { SessionView } from "../../dispatch/index.ts";
import type { ShownStatus } from "../../home/index.ts";
import { printable } from "../../util/index.ts";
import { ago, clip, note, paint, sayJson, table } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";

type Options = CommonOptions & { readonly all?: boolean };

const colours: Partial<Record<ShownStatus, Parameters<typeof paint>[0]>> = {
  running: "green",
  waiting: "yellow",
  interrupted: "magenta",
  damaged: "red",
  closed: "dim",
  archived: "dim",
};

export function command(): Command {
  return verb(
    "ls",
    "List sessions, oldest first. Without --all: those that are neither closed nor archived.",
    ["holdfast ls", "holdfast ls --all --json"],
  )
    .option("--all", "closed and archived ones too")
    .action(async (options: Options) => {
      const dispatcher = await openDispatcher(options);
      const all = await dispatcher.list(scope(options));
      const sessions = all.filter(
        ({ status }) => options.all || (status !== "closed" && status !== "archived"),
      );
      if (options.json) return sayJson(sessions);
      if (sessions.length === 0)
        return note(
          all.length > 0
            ? "all sessions are closed: holdfast ls --all"
            : "no sessions yet: holdfast run -- CMD makes one",
        );
      const nowMs = Date.now();
      const rows = sessions.map((one) => [
        one.id,
        statusText(one),
        taskText(one),
        String(one.turns),
        String(one.unread),
        ago(one.updatedAt, nowMs),
        printable(one.agent ?? "-"),
        clip(one.title ?? "", 60),
      ]);
      table([
        ["SESSION", "STATUS", "TASK", "TURNS", "UNREAD", "LAST", "AGENT", "TITLE"].map((head) =>
          paint("dim", head),
        ),
        ...rows,
      ]);
    });
}

/** The last one, what became of it, and how many wait behind it. */
function taskText({ task, queue, status }: SessionView): string {
  const waiting = queue > 0 ? [`+${queue}`] : [];
  if (!task) return waiting.join("") || "-";
  const outcome = task.outcome ?? (status === "running" || status === "waiting" ? "runs" : "unfinished");
  return [task.number, outcome, ...waiting].join(" ");
}

/** What it waits for in the line is told by `show`. */
function statusText({ status, waits }: SessionView): string {
  const painted = colours[status] ? paint(colours[status] ?? [], status) : status;
  return waits === null ? painted : `${painted}, in line`;
}
