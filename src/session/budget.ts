/**
 * Owns the check of a session's budget: which limits are reached, and whether a new limit is at least the old
 * one. Pure, as the fold.
 */
import { type Budget, type BudgetLimit, HoldfastError } from "../contract/index.ts";
import { type SessionState, type Spent, tokensIn } from "./state.ts";

/** The amount that counts against each limit. */
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

/** How far a budget still goes. */
export interface BudgetLeft {
  /** The limits that are reached: none, while the session may go on. */
  readonly reached: readonly BudgetLimit[];
  /** For each limit that is set, what is left of it; never below 0. */
  readonly left: Readonly<Partial<Record<BudgetLimit, number>>>;
}

export function budgetLeft(state: Pick<SessionState, "budget" | "spent">): BudgetLeft {
  const used = usedOf(state.spent);
  const limits = Object.entries(state.budget) as [BudgetLimit, number | undefined][];
  const left = limits.flatMap(([limit, value]) =>
    value === undefined ? [] : [[limit, Math.max(0, value - used[limit])] as const],
  );
  return { reached: reachedLimits(state), left: Object.fromEntries(left) };
}

/**
 * The spending as seen by a process that does not drive the open turn, whose time is recorded only when it
 * ends.
 */
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
      const message = `${limit}: the new budget ${value} is less than the current ${before}; a budget can only be raised`;
      throw new HoldfastError("invalid_data", message, { field: limit });
    }
  }
}

/** Adds the amounts to the limits. Only an existing limit can be raised. */
export function raisedBy(current: Budget, amounts: Budget): Budget {
  const limits = Object.entries(amounts) as [BudgetLimit, number][];
  const raised = limits.map(([limit, amount]) => {
    const before = current[limit];
    if (before === undefined)
      throw new HoldfastError("invalid_data", `${limit}: the session has no limit of ${limit} to raise`, {
        field: limit,
      });
    return [limit, before + amount];
  });
  return Object.fromEntries(raised);
}
