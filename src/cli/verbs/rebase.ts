import type { Command } from "commander";
import { present, printable } from "../../util/index.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { leftSessionOf, SESSION_HELP } from "../which-session.ts";

type Options = CommonOptions & { readonly onto?: string };

export function command(): Command {
  return verb(
    "rebase",
    "Rebase an unmerged session onto a branch of yours: Holdfast puts its commits on the tip of that branch, and brings its files up to date. The old tip of the session's branch is kept. A conflict changes nothing.",
    ["holdfast rebase fix-login", "holdfast rebase fix-login --onto develop"],
  )
    .argument("<session>", SESSION_HELP)
    .option("--onto <branch>", "the branch to rebase onto (default: the one that your checkout is on)")
    .action(async (prefix: string, options: Options) => {
      const dispatcher = await openDispatcher(options);
      const { id, label } = await leftSessionOf(dispatcher, prefix, options);
      const rebased = await dispatcher.holdfast.rebaseSession(id, {
        ...scope(options),
        ...present({ onto: options.onto }),
      });
      if (options.json) return sayJson({ session: id, ...rebased });
      const onto = printable(rebased.onto);
      if (!rebased.isNew) return say(`${label} is already based on ${onto}`);
      say(
        `${label} is now based on ${onto}: ${printable(rebased.branch)} is at ${rebased.commit.slice(0, 12)}`,
      );
      say(`  next       holdfast merge ${label}`);
    });
}
