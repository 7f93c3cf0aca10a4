/**
 * Owns reading what was spent record by record, for sums that the fold does not keep: by model, by day. What a fork's
 * parent spent is the parent's.
 */
import type { JournalRecord } from "../contract/index.ts";
import { amountIn, objectIn, textIn } from "./fold/fields.ts";
import type { Spent } from "./state.ts";

/** What one record adds to what was spent. */
export interface Expense extends Spent {
  readonly at: string;
  /** Null where a turn said what it used, and not of which model. */
  readonly model: string | null;
  /** Whether money is counted: the price of the model was known. */
  readonly isPriced: boolean;
}

export async function expensesIn(records: AsyncIterable<JournalRecord>): Promise<Expense[]> {
  let expenses: Expense[] = [];
  for await (const record of records) {
    if (record.type === "session_forked") expenses = [];
    const expense = expenseIn(record);
    if (expense) expenses.push(expense);
  }
  return expenses;
}

function expenseIn({ type, at, data }: JournalRecord): Expense | undefined {
  if (type !== "turn_ended" && type !== "usage_metered") return undefined;
  const isTurn = type === "turn_ended";
  const usage = isTurn ? objectIn(data["usage"]) : data;
  return {
    at,
    model: isTurn ? null : textIn(data["model"]),
    isPriced: isTurn || data["isPriced"] === true,
    inputTokens: amountIn(usage["inputTokens"]),
    outputTokens: amountIn(usage["outputTokens"]),
    cacheReadTokens: amountIn(usage["cacheReadTokens"]),
    cacheWriteTokens: amountIn(usage["cacheWriteTokens"]),
    usd: amountIn(usage["usd"]),
    durationMs: isTurn ? amountIn(data["durationMs"]) : 0,
    turns: isTurn ? 1 : 0,
  };
}
