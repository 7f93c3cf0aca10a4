import type { Command } from "commander";
import type { ShownStatus } from "../../home/index.ts";
import { ago, clip, paint, sayJson, table } from "../screen.ts";
import { type CommonOptions, openHome, scope, verb } from "../verb.ts";

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
      const home = await openHome(options);
      const all = await home.listSessions(scope(options));
      const sessions = all.filter(
        ({ status }) => options.all || (status !== "closed" && status !== "archived"),
      );
      if (options.json) return sayJson(sessions);
      const nowMs = Date.now();
      const rows = sessions.map((one) => [
        one.id,
        paint(colours[one.status] ?? "reset", one.status),
        String(one.turns),
        ago(one.updatedAt, nowMs),
        clip(one.title ?? one.agent ?? "", 60),
      ]);
      table([["SESSION", "STATUS", "TURNS", "LAST", "TITLE"].map((head) => paint("dim", head)), ...rows]);
    });
}
