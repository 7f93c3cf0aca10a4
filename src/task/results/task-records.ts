/**
 * Owns which records of a journal are a task's: the one that queued it, and all from its start to its end. Turns and calls
 * carry no task, and a session has one at a time.
 */
import type { JournalRecord } from "../../contract/index.ts";
import { loadLongFields, readDurable } from "../../journal/index.ts";

/**
 * For the session's owner, to whom each of them was acknowledged: none has to be synced again. Long content is loaded of messages
 * only: of a tool's arguments and output, sizes are enough.
 */
export async function* recordsOfTask(
  sessionDir: string,
  { number, request }: { readonly number: number; readonly request: string | null },
): AsyncGenerator<JournalRecord> {
  let isUnderWay = false;
  for await (const { record } of readDurable(sessionDir, { sync: async () => {} })) {
    const { type, data } = record;
    if (type === "task_started") isUnderWay = data["task"] === number;
    const isQueued = type === "task_queued" && request !== null && data["request"] === request;
    if (!isUnderWay && !isQueued) continue;
    if (type === "task_ended" && data["task"] === number) return;
    yield type === "message_added" ? { ...record, data: await loadLongFields(sessionDir, record) } : record;
  }
}
