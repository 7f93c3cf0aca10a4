import type { Command } from "commander";
import { present, printable } from "../../util/index.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & { readonly reviewed?: boolean; readonly commits?: boolean | string };

export function command(): Command {
  return verb(
    "branch",
    "Publish what a session has on its branch, as one commit: also what a task left that failed or was interrupted. With --commits, the commits that the agent made itself become a branch beside it, as they are.",
    [
      "holdfast branch fix-login",
      "holdfast branch fix-login --reviewed",
      "holdfast branch fix-login --commits",
    ],
  )
    .argument("<session>", SESSION_HELP)
    .option(
      "--reviewed",
      "you looked at it: at what the agent left unfinished, or at a value of its environment in it",
    )
    .option("--commits [branch]", "the agent's own commits, of that branch of its own (default: its HEAD)")
    .action(async (prefix: string, options: Options) => {
      const { holdfast } = await openDispatcher(options);
      const { id } = await sessionOf(holdfast, prefix, options);
      const { branch, commit, isNew } = await holdfast.branchSession(id, {
        ...scope(options),
        ...present({ isReviewed: options.reviewed, commits: options.commits }),
      });
      if (options.json) return sayJson({ session: id, branch, commit, isNew });
      say(`${printable(branch)} ${isNew ? "is at" : "has all of it, at"} ${commit.slice(0, 12)}`);
    });
}
