/**
 * Owns the types of records as a reader of the library sees them: a union that narrows by `type`.
 */
import type { EventData, EventType, JournalRecord } from "../contract/index.ts";

/** One record of a type, with its data. A newer version of the program may have written fields that are not typed here. */
export interface RecordOf<T extends EventType> {
  /** Records are numbered through a session, from 1. */
  readonly seq: number;
  /** ISO 8601, UTC, milliseconds; never earlier than the record before it. */
  readonly at: string;
  /** The event that the record reports. */
  readonly type: T;
  /** The data of the event. */
  readonly data: EventData<T>;
  /** The redaction rules that took something out of this record. */
  readonly redacted?: readonly string[];
  /** The hash of the record, which contains that of the record before it. */
  readonly hash: string;
}

/** One record of a journal. Its `type` tells which data it has. Pass over types that you do not know. */
export type SessionRecord = { [T in EventType]: RecordOf<T> }[EventType];

/** A record was checked by the schema of its event when it was written. */
export const typed = (record: JournalRecord): SessionRecord => record as unknown as SessionRecord;
