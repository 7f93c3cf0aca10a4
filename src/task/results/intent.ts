/**
 * Owns reading back an intent whose outcome is not on record, because the process that had it was killed: its
 * record has what the outcome would have said.
 */
import type { EventData } from "../../contract/index.ts";
import { readDurable } from "../../journal/index.ts";
import type { Room } from "../room/room.ts";

/** For the session's owner. The last record of that type; undefined if there is none. */
export async function lastIntent<T extends "publishing_started" | "merge_started">(
  { sessionDir }: Pick<Room, "sessionDir">,
  intent: T,
): Promise<EventData<T> | undefined> {
  let found: unknown;
  for await (const { record } of readDurable(sessionDir, { sync: async () => {} }))
    if (record.type === intent) found = record.data;
  return found as EventData<T> | undefined;
}
