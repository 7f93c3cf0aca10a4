import type { Command } from "commander";
import { present, printable } from "../../util/index.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { leftSessionOf, SESSION_HELP } from "../which-session.ts";

type Options = CommonOptions & { readonly reviewed?: boolean; readonly commits?: boolean | string };

export function command(): Command {
  return verb(
    "branch",
    "Publish a session's work on its branch, as one commit. This includes the work of a task that failed or was interrupted. With --commits, the commits that the agent itself made become a second branch, unchanged.",
    [
      "holdfast branch fix-login",
      "holdfast branch fix-login --reviewed",
      "holdfast branch fix-login --commits",
    ],
  )
    .argument("<session>", SESSION_HELP)
    .option(
      "--reviewed",
      "publish work (or, with --commits, commits) that was held for review: you have looked at it",
    )
    .option(
      "--commits [branch]",
      "publish the agent's own commits, from this branch of its git (default: its HEAD)",
    )
    .action(async (prefix: string, options: Options) => {
      const dispatcher = await openDispatcher(options);
      const { id } = await leftSessionOf(dispatcher, prefix, options);
      const { branch, commit, isNew } = await dispatcher.holdfast.branchSession(id, {
        ...scope(options),
        ...present({ isReviewed: options.reviewed, commits: options.commits }),
      });
      if (options.json) return sayJson({ session: id, branch, commit, isNew });
      say(`${printable(branch)} ${isNew ? "is now at" : "already has all of it, at"} ${commit.slice(0, 12)}`);
    });
}
