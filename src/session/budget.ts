/**
 * Owns the question whether a session's budget suffices: which limits are reached, and whether a new one is no less
 * than the old. Pure, as the fold.
 */
import { type Budget, type BudgetLimit, HoldfastError } from "../contract/index.ts";
import { type SessionState, type Spent, tokensIn } from "./state.ts";

/** What counts against each limit. */
export function usedOf(spent: Spent): Readonly<Record<BudgetLimit, number>> {
  return {
    tokens: tokensIn(spent),
    usd: spent.usd,
    minutes: spent.durationMs / 60_000,
    turns: spent.turns,
  };
}

/** Which limits of the budget are reached. */
export function reachedLimits({ budget, spent }: Pick<SessionState, "budget" | "spent">): BudgetLimit[] {
  const used = usedOf(spent);
  return (Object.keys(used) as BudgetLimit[]).filter(
    (limit) => used[limit] >= (budget[limit] ?? Number.POSITIVE_INFINITY),
  );
}

/** What is spent as one sees it who does not drive the turn that is open: its time is on record when it has ended. */
export function spentBy(nowMs: number, { spent, openTurn }: Pick<SessionState, "spent" | "openTurn">): Spent {
  const openMs = openTurn ? Math.max(0, nowMs - Date.parse(openTurn.startedAt)) || 0 : 0;
  return { ...spent, durationMs: spent.durationMs + openMs };
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

/** The limits that it changes, with these amounts added. What has no limit has none to raise. */
export function raisedBy(current: Budget, amounts: Budget): Budget {
  const limits = Object.entries(amounts) as [BudgetLimit, number][];
  const raised = limits.map(([limit, amount]) => {
    const before = current[limit];
    if (before === undefined)
      throw new HoldfastError("invalid_data", `${limit}: there is no limit of ${limit} to raise`, {
        field: limit,
      });
    return [limit, before + amount];
  });
  return Object.fromEntries(raised);
}
