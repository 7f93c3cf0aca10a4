import type { Command } from "commander";
import { printable } from "../../util/index.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { leftSessionOf, SESSION_HELP } from "../which-session.ts";

export function command(): Command {
  return verb("restore", "Restore a session's files after a teardown: the files of its last checkpoint.", [
    "holdfast restore fix-login",
  ])
    .argument("<session>", SESSION_HELP)
    .action(async (prefix: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const { id, label } = await leftSessionOf(dispatcher, prefix, options);
      const restored = await dispatcher.holdfast.restoreSession(id, scope(options));
      if (options.json) return sayJson({ session: id, ...restored });
      say(
        `${label} task ${restored.task}: restored the files of snapshot ${restored.snapshot.slice(0, 12)} (${restored.strategy})`,
      );
      for (const path of restored.left)
        say(`  not restored, because its content was not kept: ${printable(path)}`);
    });
}
