/**
 * Owns which calls of a task have an outcome in its journal. A call that a kill or a pause cut off has none,
 * and neither has a call that is held for a person.
 */
import type { SettledCall } from "../agent/index.ts";
import { loadLongFields, readDurable } from "../journal/index.ts";
import { isPlainObject, present } from "../util/index.ts";
import type { TaskInHand } from "./in-hand.ts";

export async function settledCallsOf({
  room: { sessionDir },
  number,
}: Pick<TaskInHand, "room" | "number">): Promise<ReadonlyMap<string, SettledCall>> {
  const settled = new Map<string, SettledCall>();
  let isOfTask = false;
  for await (const { record } of readDurable(sessionDir)) {
    const { type, data } = record;
    if (type === "task_started") isOfTask = data["task"] === number;
    if (!isOfTask || type !== "tool_returned" || data["outcome"] === "interrupted") continue;
    const { call, outcome, output, facts } = await loadLongFields(sessionDir, record);
    const known = isPlainObject(facts) ? facts : undefined;
    if (known?.["is_held"] === true) settled.delete(String(call));
    else
      settled.set(String(call), {
        outcome: String(outcome),
        output: output ?? null,
        ...present({ facts: known }),
      });
  }
  return settled;
}
