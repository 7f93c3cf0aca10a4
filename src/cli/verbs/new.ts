import { basename } from "node:path";
import type { Command } from "commander";
import { isHoldfastError } from "../../contract/index.ts";
import type { LocalHome } from "../../library/index.ts";
import { present } from "../../util/index.ts";
import { findDefinition } from "../definitions.ts";
import { say, sayJson } from "../screen.ts";
import {
  type BudgetOptions,
  budgetOf,
  type CommonOptions,
  openDispatcher,
  scope,
  verb,
  withBudget,
} from "../verb.ts";
import { labelOf } from "../which-session.ts";

type Options = CommonOptions &
  BudgetOptions & {
    readonly name?: string;
    readonly title?: string;
    readonly agent?: string;
    readonly repo?: string;
  };

export function command(): Command {
  const opening = verb("new", "Open a session without a task, and print its name.", [
    'holdfast new --title "fix the login timeout"',
    "holdfast new --name fix-login --agent fix-bot --budget-usd 5 --budget-minutes 60",
  ])
    .option(
      "--name <name>",
      "the name of the session and of its branch (default: made from the title, else from the repo's name)",
    )
    .option("--title <text>", "what the session is about")
    .option(
      "--agent <name>",
      "an agent definition of holdfast.yaml to open it from, or an agent that holdfast agents lists",
    )
    .option("--repo <dir>", "the repo that it works on (default: the repo that you are in, if any)");
  return withBudget(opening).action(async (options: Options) => {
    const dispatcher = await openDispatcher(options, { create: true });
    const { holdfast: home } = dispatcher;
    const { name, title, agent } = options;
    const repo = await repoOf(home, options.repo);
    const isDefined = agent !== undefined && repo !== undefined;
    const definition = isDefined ? await findDefinition(dispatcher, agent, { repo }) : undefined;
    const session = await home.openSession({
      ...scope(options),
      ...present({ name, title, agent, definition, repo, budget: budgetOf(options) }),
      nameFrom: title ?? basename(repo ?? "session"),
    });
    await session.release();
    if (options.json) sayJson(await home.showSession(session.id, scope(options)));
    else say(labelOf(session.state));
  });
}

/** A repo that the person names must be one. Without --repo there may be none. */
async function repoOf(home: LocalHome, named: string | undefined): Promise<string | undefined> {
  try {
    return await home.resolveRepo(named ?? ".");
  } catch (error) {
    if (named === undefined && isHoldfastError(error, "not_a_repo")) return undefined;
    throw error;
  }
}
