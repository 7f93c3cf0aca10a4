/**
 * Owns which calls of a task have an outcome in its journal. A call that a kill or a pause cut off has none,
 * and neither has a call that is held for a person. If the call was cut off after its action, and it is known
 * how the action ended, that is the outcome of the call.
 */
import type { SettledCall } from "../agent/index.ts";
import { isUnasked, type JournalRecord, type JsonObject } from "../contract/index.ts";
import { loadLongFields, readDurable } from "../journal/index.ts";
import { isPlainObject, present } from "../util/index.ts";
import type { TaskInHand } from "./in-hand.ts";

export async function settledCallsOf({
  room: { sessionDir },
  number,
}: Pick<TaskInHand, "room" | "number">): Promise<ReadonlyMap<string, SettledCall>> {
  const settled = new Map<string, SettledCall>();
  const callOf = new Map<string, string>();
  const spent = new Set<string>();
  // Of an action without an approval, it is on record that it was not begun.
  const mayHaveActed = (approval: string, { facts }: JsonObject) =>
    isUnasked(approval) ? !(isPlainObject(facts) && facts["is_begun"] === false) : spent.has(approval);
  let isOfTask = false;
  for await (const { record } of readDurable(sessionDir)) {
    const { type, data } = record;
    if (type === "task_started") isOfTask = data["task"] === number;
    if (!isOfTask) continue;
    const approval = String(data["approval"]);
    if (type === "action_begun" && typeof data["call"] === "string") callOf.set(approval, data["call"]);
    else if (type === "approval_spent") spent.add(approval);
    else if (type === "tool_returned" && data["outcome"] !== "interrupted") {
      const call = String(data["call"]);
      if (isHeld(data["facts"])) settled.delete(call);
      else settled.set(call, await outcomeIn(sessionDir, record));
    } else if (type === "action_ended" && data["outcome"] !== "unknown" && mayHaveActed(approval, data)) {
      const call = callOf.get(approval);
      if (call !== undefined) settled.set(call, await outcomeIn(sessionDir, record));
    }
  }
  return settled;
}

const isHeld = (facts: unknown) => isPlainObject(facts) && facts["is_held"] === true;

async function outcomeIn(sessionDir: string, record: JournalRecord): Promise<SettledCall> {
  const { outcome, output, facts } = await loadLongFields(sessionDir, record);
  const known = isPlainObject(facts) ? facts : undefined;
  return { outcome: String(outcome), output: output ?? null, ...present({ facts: known }) };
}
