import type { Command } from "commander";
import { printable } from "../../util/index.ts";
import { plural } from "../amounts.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openHome, scope, verb } from "../verb.ts";
import { labelOf } from "../which-session.ts";

const SHOWN_PATHS = 5;

export function command(): Command {
  return verb(
    "conflicts",
    "Show which sessions will conflict when they are merged: with each other, and with the branch that the checkout of their repo is on. It leaves out sessions that are closed or archived, and work that is merged. It changes nothing.",
    ["holdfast conflicts", "holdfast conflicts --json"],
  ).action(async (options: CommonOptions) => {
    const holdfast = await openHome(options);
    const found = await holdfast.findConflicts(scope(options));
    if (options.json) return sayJson({ repos: found });
    const sessions = await holdfast.listSessions(scope(options));
    const labels = new Map(sessions.map((session) => [session.id, labelOf(session)]));
    const nameOf = (id: string) => printable(labels.get(id) ?? id);
    for (const { repo, into, sessions: count, conflicts } of found) {
      if (count === 0) continue;
      say(`${printable(repo)}: ${plural(count, "session")} with unmerged work`);
      if (conflicts.length === 0) say("  no conflicts");
      for (const { session, other, paths } of conflicts) {
        const more = paths.length > SHOWN_PATHS ? ` and ${paths.length - SHOWN_PATHS} more` : "";
        const against = other === null ? printable(into ?? "HEAD") : nameOf(other);
        const shown = paths.slice(0, SHOWN_PATHS).map((path) => printable(path));
        say(`  ${nameOf(session)} and ${against}: ${shown.join(", ")}${more}`);
      }
    }
    if (found.every(({ sessions: count }) => count === 0)) say("no session has unmerged work");
  });
}
