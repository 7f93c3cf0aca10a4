/**
 * Owns reading the spending record by record, for sums that the fold does not keep: by agent, by model, by
 * day. What the parent of a fork spent counts for the parent.
 */
import type { JournalRecord, JsonObject } from "../contract/index.ts";
import { amountIn, objectIn, textIn } from "./fold/fields.ts";
import type { Spent } from "./state.ts";

/** What one record adds to the spending. */
export interface Expense extends Spent {
  readonly at: string;
  /** The agent of the task that spent it; null for a command, and outside of a task. */
  readonly agent: string | null;
  /** Null where a turn reported usage without a model. */
  readonly model: string | null;
  /** Whether the price of the model was known, so that money was counted. */
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

/** Each task of a session may have another agent. */
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

  /** A turn's spending belongs to the task that is under way. */
  of(task: number | undefined): string | null {
    return this.#byTask.get(task ?? this.#task) ?? null;
  }
}

/** The name by which the agent was asked for: its own, or that of its definition. */
function agentIn(spec: JsonObject): string | null {
  return /^agent:(.+)$/s.exec(textIn(spec["definition"]))?.[1] ?? null;
}

function expenseIn({ type, at, data }: JournalRecord, agents: TaskAgents): Expense | undefined {
  if (type !== "turn_ended" && type !== "usage_metered") return undefined;
  const isTurn = type === "turn_ended";
  const usage = isTurn ? objectIn(data["usage"]) : data;
  return {
    at,
    agent: agents.of(isTurn || data["task"] === undefined ? undefined : amountIn(data["task"])),
    model: textIn(usage["model"]) || null,
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
