/**
 * Owns the reading of a session's records as they were appended: durable, in order, with long content in
 * place.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { JournalRecord } from "../contract/index.ts";
import { JOURNAL_START, loadLongFields, readDurable } from "../journal/index.ts";

/**
 * How often a follower looks for new records. A reader of the library has no process of the session that
 * could ring.
 */
const FOLLOW_MS = 200;

export interface ReadOptions {
  readonly fromSeq?: number;
}

export interface FollowOptions extends ReadOptions {
  readonly signal: AbortSignal;
}

export async function* readRecords(
  sessionDir: string,
  options: ReadOptions = {},
): AsyncGenerator<JournalRecord> {
  for await (const { record } of readDurable(sessionDir)) {
    if (record.seq >= (options.fromSeq ?? 0)) yield await whole(sessionDir, record);
  }
}

/** The last record that `isIt` accepts. */
export async function findLastRecord(
  sessionDir: string,
  isIt: (record: JournalRecord) => boolean,
): Promise<JournalRecord | undefined> {
  let found: JournalRecord | undefined;
  for await (const { record } of readDurable(sessionDir)) if (isIt(record)) found = record;
  return found && whole(sessionDir, found);
}

/** Never ends by itself: later records are yielded when they are durable. */
export async function* followRecords(
  sessionDir: string,
  options: FollowOptions,
): AsyncGenerator<JournalRecord> {
  let from = JOURNAL_START;
  while (!options.signal.aborted) {
    for await (const { record, end } of readDurable(sessionDir, { from })) {
      from = end;
      if (record.seq >= (options.fromSeq ?? 0)) yield await whole(sessionDir, record);
    }
    await sleep(FOLLOW_MS, undefined, { signal: options.signal }).catch(() => {});
  }
}

async function whole(sessionDir: string, record: JournalRecord): Promise<JournalRecord> {
  return { ...record, data: await loadLongFields(sessionDir, record) };
}
