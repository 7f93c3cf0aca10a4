/**
 * Owns the step of tools that are a program: those that the repo's file declares, and `gh`. The program's
 * bytes are those that were approved; its arguments come from the declaration and the call.
 */
import { join } from "node:path";
import { assertSame, type ProgramTarget } from "../../task/index.ts";
import type { Planner } from "../plan.ts";
import { pullRequestWords } from "../pull-request-words.ts";
import { reachOf } from "../reach.ts";
import { wordsFor } from "../words.ts";
import { groundOf, runSandboxed } from "./sandboxed.ts";

/** gh must not wait for a person, or look for a newer version of itself. */
const GH_ENV = { GH_PROMPT_DISABLED: "1", GH_NO_UPDATE_NOTIFIER: "1", NO_COLOR: "1" };
const GH_HOSTS = ["github.com", "api.github.com"];

export const planCommand: Planner = async (order, values) => {
  const { action, declaration, input } = order;
  const ground = groundOf(order.ground);
  const { kind, hosts, timeoutMinutes } = declaration;
  const { executable } = action.target as unknown as ProgramTarget;
  const program = "path" in executable ? executable.path : join(ground.sandbox.at, executable.tree);
  await assertSame(executable);
  const isGh = kind === "gh_pr_create";
  const words = isGh ? pullRequestWords(action) : wordsFor(declaration.words, action.args, input).slice(1);
  const of = {
    command: [program, ...words],
    ground,
    env: isGh ? { ...GH_ENV, ...values } : values,
    reach: reachOf(isGh ? [...GH_HOSTS, ...hosts] : hosts),
    timeoutMinutes,
    input: isGh ? String(action.args["body"] ?? "") : JSON.stringify(action.args),
  };
  return (signal) => runSandboxed(of, signal);
};
