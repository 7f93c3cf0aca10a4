/**
 * Owns what verbs share: their options, their help, and how they get to the home.
 */
import { Command, InvalidArgumentError, Option } from "commander";
import type { Budget } from "../contract/index.ts";
import { Dispatcher, type StopOptions } from "../dispatch/index.ts";
import { type Holdfast, openHoldfast } from "../library/index.ts";
import { present } from "../util/index.ts";
import { progress } from "./progress.ts";
import { note } from "./screen.ts";

export interface CommonOptions {
  readonly home?: string;
  readonly user?: string;
  readonly json?: boolean;
}

/** A verb with its examples under its help. Every verb speaks JSON. */
export function bareVerb(name: string, summary: string, examples: readonly string[]): Command {
  return new Command(`holdfast ${name}`)
    .description(summary)
    .option("--json", "one JSON document, or one line per record or step")
    .addHelpText("after", `\nExamples:\n${examples.map((line) => `  ${line}`).join("\n")}`);
}

/** A verb of a whole home. */
export function homeVerb(name: string, summary: string, examples: readonly string[]): Command {
  return bareVerb(name, summary, examples).option(
    "--home <dir>",
    "the home (default: $HOLDFAST_HOME, else ~/.holdfast)",
  );
}

/** A verb of one user's sessions. */
export function verb(name: string, summary: string, examples: readonly string[]): Command {
  return homeVerb(name, summary, examples).option(
    "--user <name>",
    "whose sessions (default: your user name; a filter, not a wall)",
  );
}

/** Of the homes that somebody named, only the verbs that bring a session in make one: a typo is no new home. */
export function openHome(options: CommonOptions, { create = false } = {}): Promise<Holdfast> {
  return openHoldfast(homeOptions(options, create));
}

function homeOptions(options: CommonOptions, create: boolean, isQuiet = false) {
  const isNamed = options.home !== undefined || Boolean(process.env["HOLDFAST_HOME"]);
  // What a verb answers with one document is not told piece by piece.
  const onProgress = options.json || isQuiet ? undefined : progress.step;
  return { ...present({ home: options.home }), create: create || !isNamed, onProgress };
}

/** The same home, with its session processes. */
export function openDispatcher(
  options: CommonOptions,
  { create = false, isQuiet = false } = {},
): Promise<Dispatcher> {
  return Dispatcher.open(homeOptions(options, create, isQuiet));
}

export function scope(options: CommonOptions): { user?: string } {
  return present({ user: options.user });
}

/** For what ends a session process first: whoever waits for one that does not end is told what for. */
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

export function withBudget(command: Command): Command {
  for (const limit of ["tokens", "usd", "minutes", "turns"]) {
    const option = new Option(`--budget-${limit} <n>`, `pause when so many ${limit} are spent`);
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
  throw new InvalidArgumentError("a number above 0 is needed.");
}

export function parsePositiveCount(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("a whole number above 0 is needed.");
}

export function parseCount(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("a whole number is needed.");
}
