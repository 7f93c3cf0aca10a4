/**
 * A bare journal in a directory: the journal's own tests need no session around it.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { JournalRecord, JsonObject } from "../../src/contract/index.ts";
import {
  type JournalIo,
  type JournalWriter,
  openJournal,
  type Recovery,
  readDurable,
} from "../../src/journal/index.ts";
import { plainPorts } from "./home.ts";

export interface OpenedForTest {
  readonly writer: JournalWriter;
  readonly recovery: Recovery;
  /** The records that were there before. */
  readonly found: JournalRecord[];
}

export function makeSessionDir(path: string): string {
  for (const part of ["journal", "blobs"]) mkdirSync(join(path, part), { recursive: true });
  return path;
}

export async function openForTest(sessionDir: string, io: Partial<JournalIo> = {}): Promise<OpenedForTest> {
  const found: JournalRecord[] = [];
  const { writer, recovery } = await openJournal({
    sessionDir,
    session: "sess_01k00000000000000000000000",
    io: { ...plainPorts, ...io },
    onRecord: (record) => found.push(record),
    listener: { onDurable: () => {}, onRefused: () => {} },
  });
  return { writer, recovery, found };
}

export async function readAll(sessionDir: string): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const { record } of readDurable(sessionDir)) records.push(record);
  return records;
}

export function custom(number: number, extra: JsonObject = {}): [string, JsonObject] {
  return ["custom", { name: "test", number, ...extra }];
}
