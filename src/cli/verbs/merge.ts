import type { Command } from "commander";
import { present, printable } from "../../util/index.ts";
import { plural } from "../amounts.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & {
  readonly into?: string;
  readonly squash?: boolean;
  readonly verify: boolean;
};

export function command(): Command {
  return verb(
    "merge",
    "Merge a session's branch into one of yours: its commits are put on the tip of that branch, the checks run on exactly what it would become, and then it moves forward. A clean checkout that is on it moves along. Merges into one repo wait for each other. On a conflict nothing is changed.",
    ["holdfast merge fix-login", "holdfast merge fix-login --into develop --squash"],
  )
    .argument("<session>", SESSION_HELP)
    .option("--into <branch>", "the branch that it goes into (default: the one that the checkout is on)")
    .option("--squash", "as one commit")
    .option("--no-verify", "without checks; that is on record")
    .action(async (prefix: string, options: Options) => {
      const { holdfast } = await openDispatcher(options);
      const { id, label } = await sessionOf(holdfast, prefix, options);
      const merged = await holdfast.mergeSession(id, {
        ...scope(options),
        ...present({ into: options.into, isSquashed: options.squash }),
        isUnverified: !options.verify,
      });
      if (options.json) return sayJson({ session: id, ...merged });
      const into = printable(merged.into);
      const at = merged.commit.slice(0, 12);
      if (!merged.isNew) return say(`${into} has all of it, at ${at}`);
      const checked = merged.verdict === "passed" ? "checks passed" : "unverified";
      say(`${into} is at ${at}, with ${plural(merged.commits, "commit")} of ${label}, ${checked}`);
    });
}
