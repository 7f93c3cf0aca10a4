import type { Command } from "commander";
import { HoldfastError } from "../../contract/index.ts";
import { present, printable } from "../../util/index.ts";
import type { AgentOptions } from "../agent-choice.ts";
import { plural } from "../amounts.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions &
  AgentOptions & {
    readonly into?: string;
    readonly squash?: boolean;
    readonly verify: boolean;
    readonly resolve?: boolean;
    readonly detach?: boolean;
  };

export function command(): Command {
  return verb(
    "merge",
    "Merge a session's branch into one of yours: its commits are put on the tip of that branch, the checks run on exactly what it would become, and then it moves forward. A clean checkout that is on it moves along. Merges into one repo wait for each other. On a conflict nothing is changed; with --resolve the session gets a task that begins with the conflict, for its agent, or for the command after --.",
    [
      "holdfast merge fix-login",
      "holdfast merge fix-login --into develop --squash",
      "holdfast merge fix-login --resolve",
      "holdfast merge fix-login --resolve -i -- vim src/login.ts",
    ],
  )
    .argument("<session>", SESSION_HELP)
    .argument(
      "[command...]",
      "with --resolve: what resolves the conflict, after -- (default: the session's agent)",
    )
    .option("--into <branch>", "the branch that it goes into (default: the one that the checkout is on)")
    .option("--squash", "as one commit")
    .option("--no-verify", "without checks; that is on record")
    .option("--resolve", "give a conflict back: a task of the session begins with it")
    .option("--agent <name>", "with --resolve: another agent than the session's own")
    .option("-i, --interactive", "with --resolve: in a terminal of its own")
    .option("-d, --detach", "with --resolve: do not wait for it")
    .action(async (prefix: string, words: string[], options: Options) => {
      const dispatcher = await openDispatcher(options);
      const session = await sessionOf(dispatcher.holdfast, prefix, options);
      if (options.resolve) {
        const { resolveConflict } = await import("../resolving.ts");
        return resolveConflict(dispatcher, session, words, { ...options, sandbox: true });
      }
      if (words.length > 0 || options.agent !== undefined || options.interactive || options.detach)
        throw new HoldfastError("usage", "a command, --agent, -i and --detach go with --resolve");
      const { id, label } = session;
      const merged = await dispatcher.holdfast.mergeSession(id, {
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
