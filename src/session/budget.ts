/**
 * Owns the question whether a session's budget suffices: which limits are reached, and whether a new one is no less
 * than the old. Pure, as the fold.
 */
import { type Budget, type BudgetLimit, HoldfastError } from "../contract/index.ts";
import { type SessionState, tokensIn } from "./state.ts";

/** Which limits of the budget are reached. */
export function reachedLimits({ budget, spent }: SessionState): BudgetLimit[] {
  const used: Record<BudgetLimit, number> = {
    tokens: tokensIn(spent),
    usd: spent.usd,
    minutes: spent.durationMs / 60_000,
    turns: spent.turns,
  };
  return (Object.keys(used) as BudgetLimit[]).filter(
    (limit) => used[limit] >= (budget[limit] ?? Number.POSITIVE_INFINITY),
  );
}

export function budgetReached(limits: readonly BudgetLimit[]): HoldfastError {
  return new HoldfastError("budget_reached", `the budget is reached: ${limits.join(", ")}`, { limits });
}

export function assertRaised({ budget: current }: SessionState, budget: Budget): void {
  for (const [limit, value] of Object.entries(budget) as [BudgetLimit, number | undefined][]) {
    const before = current[limit];
    if (value !== undefined && before !== undefined && value < before) {
      const message = `${limit}: ${value} is less than the budget of ${before}, and a budget can only be raised`;
      throw new HoldfastError("invalid_data", message, { field: limit });
    }
  }
}
