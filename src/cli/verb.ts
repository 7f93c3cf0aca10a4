/**
 * Owns what verbs share: their options, their help, and how they open the home.
 */
import { Command, InvalidArgumentError, Option } from "commander";
import type { Budget } from "../contract/index.ts";
import { Dispatcher, type StopOptions } from "../dispatch/index.ts";
import { type LocalHome, openLocalHome } from "../library/index.ts";
import { present } from "../util/index.ts";
import { progress } from "./progress.ts";
import { note } from "./screen.ts";

export interface CommonOptions {
  readonly home?: string;
  readonly user?: string;
  readonly json?: boolean;
}

/** A verb with examples after its help. Every verb has --json. */
export function bareVerb(name: string, summary: string, examples: readonly string[]): Command {
  return new Command(`holdfast ${name}`)
    .description(summary)
    .option("--json", "print JSON: one document, or one line for each record or step")
    .addHelpText("after", `\nExamples:\n${examples.map((line) => `  ${line}`).join("\n")}`);
}

/** A verb for a whole home. */
export function homeVerb(name: string, summary: string, examples: readonly string[]): Command {
  return bareVerb(name, summary, examples).option(
    "--home <dir>",
    "the home (default: $HOLDFAST_HOME, else ~/.holdfast)",
  );
}

/** A verb for one user's sessions. */
export function verb(name: string, summary: string, examples: readonly string[]): Command {
  return homeVerb(name, summary, examples).option(
    "--user <name>",
    "use the sessions of this user (default: your user name); a filter, not access control",
  );
}

/**
 * A home that is named explicitly is made only by the verbs that bring a session in, so that a typo does not
 * make a new home.
 */
export function openHome(options: CommonOptions, { create = false } = {}): Promise<LocalHome> {
  return openLocalHome(homeOptions(options, create));
}

function homeOptions(options: CommonOptions, create: boolean, isService = false) {
  const isNamed = options.home !== undefined || Boolean(process.env["HOLDFAST_HOME"]);
  // A verb that prints one document reports no progress, nor does one that runs all the time.
  const onProgress = options.json || isService ? undefined : progress.step;
  return { ...present({ home: options.home }), create: create || !isNamed, onProgress, isService };
}

/** The same home, with its session processes. */
export function openDispatcher(
  options: CommonOptions,
  { create = false, isService = false } = {},
): Promise<Dispatcher> {
  return Dispatcher.open(homeOptions(options, create, isService));
}

export function scope(options: CommonOptions): { user?: string } {
  return present({ user: options.user });
}

/**
 * For verbs that first end a session process: if it does not end, the person is told what the verb waits for.
 */
export function stopping(options: CommonOptions, label: string): Required<StopOptions> & { user?: string } {
  return {
    ...scope(options),
    onWait: ({ pid }) =>
      note(
        `waiting for process ${pid} of ${label}; if it never ends, holdfast resume ${label} --take-over ends it`,
      ),
  };
}

export interface BudgetOptions {
  readonly budgetTokens?: number;
  readonly budgetUsd?: number;
  readonly budgetMinutes?: number;
  readonly budgetTurns?: number;
}

const BUDGET_HELP = {
  tokens: "hold model requests after this many tokens, then park the task",
  usd: "hold model requests after this many US dollars, then park the task",
  minutes: "hold model requests after this many minutes of turns, then park the task",
  turns: "pause the session after this many turns",
} as const;

export function withBudget(command: Command): Command {
  for (const limit of ["tokens", "usd", "minutes", "turns"] as const) {
    const option = new Option(`--budget-${limit} <n>`, BUDGET_HELP[limit]);
    command.addOption(option.argParser(parsePositive));
  }
  return command;
}

export function budgetOf(options: BudgetOptions): Budget | undefined {
  const { budgetTokens, budgetUsd, budgetMinutes, budgetTurns } = options;
  const budget = present({
    tokens: budgetTokens,
    usd: budgetUsd,
    minutes: budgetMinutes,
    turns: budgetTurns,
  });
  return Object.keys(budget).length > 0 ? budget : undefined;
}

function parsePositive(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("give a number above 0.");
}

export function parsePositiveCount(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("give a whole number above 0.");
}

export function parseCount(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("give a whole number.");
}
