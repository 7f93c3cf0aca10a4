import type { Command } from "commander";
import { printable } from "../../util/index.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openHome, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

export function command(): Command {
  return verb("restore", "Bring a session's files back after a teardown: those of its last checkpoint.", [
    "holdfast restore fix-login",
  ])
    .argument("<session>", SESSION_HELP)
    .action(async (prefix: string, options: CommonOptions) => {
      const home = await openHome(options);
      const { id, label } = await sessionOf(home, prefix, options);
      const restored = await home.restoreSession(id, scope(options));
      if (options.json) return sayJson({ session: id, ...restored });
      say(
        `${label} task ${restored.task}: files of snapshot ${restored.snapshot.slice(0, 12)} are back (${restored.strategy})`,
      );
      for (const path of restored.left) say(`  not brought back, it has no content: ${printable(path)}`);
    });
}
