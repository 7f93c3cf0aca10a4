/**
 * Owns which records of a journal belong to a task: the one that queued it, and all from its start to its
 * end. Turns and calls do not name a task, but a session has one task at a time.
 */
import type { JournalRecord } from "../../contract/index.ts";
import { loadLongFields, type Position, readDurable } from "../../journal/index.ts";
import { present } from "../../util/index.ts";

export interface TaskRange {
  readonly number: number;
  readonly request: string | null;
  /** Before all of them. Undefined: the whole journal is read. */
  readonly from: Position | undefined;
}

/**
 * For the session's owner, to whom every record was acknowledged, so none has to be synced again. Long
 * content is loaded for messages and checks; for a tool's arguments and output, sizes are sufficient.
 */
export async function* recordsOfTask(
  sessionDir: string,
  { number, request, from }: TaskRange,
): AsyncGenerator<JournalRecord> {
  let isUnderWay = false;
  const options = { sync: async () => {}, ...present({ from }) };
  for await (const { record } of readDurable(sessionDir, options)) {
    const { type, data } = record;
    if (type === "task_started") isUnderWay = data["task"] === number;
    const isQueued = type === "task_queued" && request !== null && data["request"] === request;
    if (!isUnderWay && !isQueued) continue;
    if (type === "task_ended" && data["task"] === number) return;
    const isWhole = type === "message_added" || type === "check_ended";
    yield isWhole ? { ...record, data: await loadLongFields(sessionDir, record) } : record;
  }
}
