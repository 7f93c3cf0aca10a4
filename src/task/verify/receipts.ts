/**
 * Owns reading receipts, the results of checks on a task's trees, and whether they still count. They are read
 * from the journal only; no other file is a receipt.
 */
import { type JournalRecord, type JsonObject, verdicts } from "../../contract/index.ts";
import { textIn } from "../../session/index.ts";

/** One check that ended, according to its record. */
export interface Receipt {
  readonly check: string;
  readonly tree: string;
  readonly passed: boolean;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly reason: string | null;
  readonly command: string;
  readonly durationMs: number;
  readonly base: string | null;
  readonly lane: string | null;
  /** The branch that its tree was to become, of a merge; null: it is of the task's own work. */
  readonly into: string | null;
  readonly at: string;
  /** The `seq` of its record, which has the output. */
  readonly seq: number;
  readonly output: string;
}

export interface TaskReceipts {
  /** The latest receipt of each check on each tree, in the order in which the checks ended. */
  readonly receipts: readonly Receipt[];
  /** The latest verdict on a tree of the task itself; null before the first. */
  readonly verification: JsonObject | null;
  /** The latest tree of its work. Receipts of another tree don't count. Null before its first checkpoint. */
  readonly tree: string | null;
}

export async function readReceipts(
  records: AsyncIterable<JournalRecord>,
  task: number,
): Promise<TaskReceipts> {
  const found = new FoundReceipts(task);
  for await (const record of records) found.add(record);
  return found.all;
}

/** Collects receipts while records are read for other purposes too. */
export class FoundReceipts {
  readonly #task: number;
  readonly #receipts = new Map<string, Receipt>();
  /** Trees of merges, by the branches that they were to become. */
  readonly #merged = new Map<string, string>();
  #verification: JsonObject | null = null;
  #tree: string | null = null;

  constructor(task: number) {
    this.#task = task;
  }

  add({ type, data, at, seq }: JournalRecord): void {
    // The files of an earlier turn are the session's again.
    if (type === "session_rewound") this.#tree = typeof data["tree"] === "string" ? data["tree"] : null;
    if (data["task"] !== this.#task) return;
    if (type === "snapshot_taken") this.#tree = textIn(data["tree"]);
    if (type === "check_ended") {
      const receipt = receiptOf(data, at, seq);
      const key = `${receipt.tree} ${receipt.check}`;
      this.#receipts.delete(key);
      this.#receipts.set(key, receipt);
    }
    const isVerdict = type === "verification_ended" && verdicts.some((one) => one === data["verdict"]);
    if (isVerdict && data["into"] === undefined) this.#verification = data;
    if (isVerdict && data["into"] !== undefined) this.#merged.set(textIn(data["tree"]), textIn(data["into"]));
  }

  get all(): TaskReceipts {
    const receipts = [...this.#receipts.values()].map((receipt) => ({
      ...receipt,
      into: this.#merged.get(receipt.tree) ?? null,
    }));
    return { receipts, verification: this.#verification, tree: this.#tree };
  }
}

function receiptOf(data: JsonObject, at: string, seq: number): Receipt {
  const textOrNull = (name: string) => (typeof data[name] === "string" ? textIn(data[name]) : null);
  const numberOrNull = (name: string) => (typeof data[name] === "number" ? Number(data[name]) : null);
  return {
    check: textIn(data["check"]),
    tree: textIn(data["tree"]),
    passed: data["passed"] === true,
    exitCode: numberOrNull("exitCode"),
    signal: textOrNull("signal"),
    reason: textOrNull("reason"),
    command: textIn(data["command"]),
    durationMs: numberOrNull("durationMs") ?? 0,
    base: textOrNull("base"),
    lane: textOrNull("lane"),
    into: null,
    at,
    seq,
    output: textIn(data["output"]),
  };
}
