/**
 * Owns what all verbs share: their options, their help, and how they get to the home.
 */
import { Command, InvalidArgumentError, Option } from "commander";
import type { Budget } from "../contract/index.ts";
import { type Holdfast, openHoldfast } from "../home/index.ts";
import { present } from "../util/index.ts";

export interface CommonOptions {
  readonly home?: string;
  readonly user?: string;
  readonly json?: boolean;
}

/** A verb with the options that every verb has, and examples under its help. */
export function verb(name: string, summary: string, examples: readonly string[]): Command {
  return new Command(name)
    .description(summary)
    .option("--home <dir>", "the home (default: $HOLDFAST_HOME, else ~/.holdfast)")
    .option("--user <name>", "whose sessions (default: your user name; a filter, not a wall)")
    .option("--json", "one JSON document, or one line per event")
    .addHelpText("after", `\nExamples:\n${examples.map((line) => `  ${line}`).join("\n")}`);
}

export function openHome(options: CommonOptions): Promise<Holdfast> {
  return openHoldfast(present({ home: options.home }));
}

export function scope(options: CommonOptions): { user?: string } {
  return present({ user: options.user });
}

export interface BudgetOptions {
  readonly budgetTokens?: number;
  readonly budgetUsd?: number;
  readonly budgetMinutes?: number;
  readonly budgetTurns?: number;
}

export function withBudget(command: Command): Command {
  const limits = ["tokens", "usd", "minutes", "turns"];
  for (const limit of limits) {
    command.addOption(
      new Option(`--budget-${limit} <n>`, `pause when so many ${limit} are spent`).argParser(parsePositive),
    );
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

export function parsePositive(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("a number above 0 is needed.");
}

export function parseCount(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("a whole number is needed.");
}
