/**
 * Owns the reading of receipts: what checks said of a task's trees, from the journal alone, and whether that still counts.
 * Nothing else that a file says is a receipt.
 */
import { type JournalRecord, type JsonObject, verdicts } from "../../contract/index.ts";
import { textIn } from "../../session/index.ts";

/** One check that ended, as its record has it. */
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
  readonly at: string;
  /** Its record in the journal, which has the output. */
  readonly seq: number;
  readonly output: string;
}

export interface TaskReceipts {
  /** The last of each check, in the order in which they ended. */
  readonly receipts: readonly Receipt[];
  /** The last verdict on a tree of the task's own; null before. */
  readonly verification: JsonObject | null;
  /** What its work was at last: receipts of another tree don't count. Null before its first checkpoint. */
  readonly tree: string | null;
}

export async function readReceipts(
  records: AsyncIterable<JournalRecord>,
  task: number,
): Promise<TaskReceipts> {
  const receipts = new Map<string, Receipt>();
  let verification: JsonObject | null = null;
  let tree: string | null = null;
  for await (const { type, data, at, seq } of records) {
    if (data["task"] !== task) continue;
    if (type === "snapshot_taken") tree = textIn(data["tree"]);
    if (type === "check_ended") {
      const receipt = receiptOf(data, at, seq);
      receipts.delete(receipt.check);
      receipts.set(receipt.check, receipt);
    }
    const isVerdict = type === "verification_ended" && verdicts.some((one) => one === data["verdict"]);
    if (isVerdict && data["into"] === undefined) verification = data;
  }
  return { receipts: [...receipts.values()], verification, tree };
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
    at,
    seq,
    output: textIn(data["output"]),
  };
}
