/**
 * Owns reading what was spent record by record, for sums that the fold does not keep: by agent, by model, by day.
 * What a fork's parent spent is the parent's.
 */
import type { JournalRecord, JsonObject } from "../contract/index.ts";
import { amountIn, objectIn, textIn } from "./fold/fields.ts";
import type { Spent } from "./state.ts";

/** What one record adds to what was spent. */
export interface Expense extends Spent {
  readonly at: string;
  /** The one that was asked for the task in which it was spent; null where that was a command, or no task. */
  readonly agent: string | null;
  /** Null where a turn said what it used, and not of which model. */
  readonly model: string | null;
  /** Whether money is counted: the price of the model was known. */
  readonly isPriced: boolean;
}

export async function expensesIn(records: AsyncIterable<JournalRecord>): Promise<Expense[]> {
  let expenses: Expense[] = [];
  const agents = new TaskAgents();
  for await (const record of records) {
    agents.read(record);
    if (record.type === "session_forked") expenses = [];
    const expense = expenseIn(record, agents);
    if (expense) expenses.push(expense);
  }
  return expenses;
}

/** A session's tasks may each have another agent. */
class TaskAgents {
  readonly #byRequest = new Map<string, string | null>();
  readonly #byTask = new Map<number, string | null>();
  #task = 0;

  read({ type, data }: JournalRecord): void {
    if (type === "task_queued") this.#byRequest.set(textIn(data["request"]), agentIn(objectIn(data["spec"])));
    if (type !== "task_started") return;
    this.#task = amountIn(data["task"]);
    this.#byTask.set(this.#task, this.#byRequest.get(textIn(data["request"])) ?? null);
  }

  /** What a turn spent is of the task that is under way. */
  of(task: number | undefined): string | null {
    return this.#byTask.get(task ?? this.#task) ?? null;
  }
}

/** By the name that a person asked for it: its own, or that of its definition. */
function agentIn(spec: JsonObject): string | null {
  return /^agent:(.+)$/s.exec(textIn(spec["definition"]))?.[1] ?? null;
}

function expenseIn({ type, at, data }: JournalRecord, agents: TaskAgents): Expense | undefined {
  if (type !== "turn_ended" && type !== "usage_metered") return undefined;
  const isTurn = type === "turn_ended";
  const usage = isTurn ? objectIn(data["usage"]) : data;
  return {
    at,
    agent: agents.of(isTurn ? undefined : amountIn(data["task"])),
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
