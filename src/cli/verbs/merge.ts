import type { Command } from "commander";
import { HoldfastError } from "../../contract/index.ts";
import type { AgentOptions } from "../../face/index.ts";
import { present, printable } from "../../util/index.ts";
import { plural } from "../amounts.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { leftSessionOf, SESSION_HELP } from "../which-session.ts";

type Options = CommonOptions &
  AgentOptions & {
    readonly into?: string;
    readonly squash?: boolean;
    readonly keepCommits?: boolean;
    readonly reviewed?: boolean;
    readonly verify: boolean;
    readonly resolve?: boolean;
    readonly detach?: boolean;
  };

export function command(): Command {
  return verb(
    "merge",
    "Merge a session's branch into a branch of yours. The session's commits are put on the tip of your branch, the checks run on the result, and then your branch moves forward. If a clean checkout is on that branch, it is updated, too. Merges into the same repo run one at a time. A conflict changes nothing; with --resolve, the session's agent, or the command after --, gets a task that begins with the conflict.",
    [
      "holdfast merge fix-login",
      "holdfast merge fix-login --into develop --squash",
      "holdfast merge fix-login --keep-commits",
      "holdfast merge fix-login --resolve",
      "holdfast merge fix-login --resolve -i -- vim src/login.ts",
    ],
  )
    .argument("<session>", SESSION_HELP)
    .argument(
      "[command...]",
      "with --resolve: the command, after --, that resolves the conflict (default: the session's agent)",
    )
    .option("--into <branch>", "the branch to merge into (default: the one that your checkout is on)")
    .option("--squash", "merge the work as one commit")
    .option(
      "--keep-commits",
      "merge the commits that the agent itself made, instead of one commit for each task; what it did not commit becomes one more commit",
    )
    .option("--reviewed", "with --keep-commits: you have looked at the agent's commits")
    .option("--no-verify", "do not run the checks; the session's record notes that")
    .option("--resolve", "on a conflict, give the session a task that begins with the conflict")
    .option("--agent <name>", "with --resolve: use this agent, not the session's own")
    .option("-i, --interactive", "with --resolve: run it in a terminal of its own")
    .option("-d, --detach", "with --resolve: do not wait for the task")
    .action(async (prefix: string, words: string[], options: Options) => {
      assertTogether(options);
      const dispatcher = await openDispatcher(options);
      const session = await leftSessionOf(dispatcher, prefix, options);
      if (options.resolve) {
        const { resolveConflict } = await import("../resolving.ts");
        return resolveConflict(dispatcher, session, words, { ...options, sandbox: true });
      }
      if (words.length > 0 || options.agent !== undefined || options.interactive || options.detach)
        throw new HoldfastError("usage", "a command, --agent, -i and --detach need --resolve");
      const { id, label } = session;
      const merged = await dispatcher.holdfast.mergeSession(id, {
        ...scope(options),
        ...present({
          into: options.into,
          isSquashed: options.squash,
          keepsCommits: options.keepCommits,
          isReviewed: options.reviewed,
        }),
        isUnverified: !options.verify,
      });
      if (options.json) return sayJson({ session: id, ...merged });
      const into = printable(merged.into);
      const at = merged.commit.slice(0, 12);
      if (!merged.isNew) return say(`${into} already has all of it, at ${at}`);
      const checked = merged.verdict === "passed" ? "checks passed" : "unverified";
      say(`${into} is now at ${at}, with ${plural(merged.commits, "commit")} from ${label}, ${checked}`);
      if (merged.authors.length > 0)
        say(`  authors    ${merged.authors.map(printable).join(", ")}: as the agent named them`);
    });
}

function assertTogether({ squash, keepCommits, reviewed, resolve }: Options): void {
  if (keepCommits && squash)
    throw new HoldfastError("usage", "--keep-commits and --squash can't be used together");
  if (keepCommits && resolve)
    throw new HoldfastError("usage", "--keep-commits and --resolve can't be used together");
  if (reviewed && !keepCommits) throw new HoldfastError("usage", "--reviewed needs --keep-commits");
}
