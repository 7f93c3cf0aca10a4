/**
 * Owns the rows of the index that lists are made from: the state of each session when it was last inspected.
 * index-2 A row is used only while the files that it was made from are unchanged.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { SessionId } from "../contract/index.ts";
import { type Position, segmentName } from "../journal/index.ts";
import type { CachedFold, Inspected } from "../session/index.ts";
import { journalDir, witnessPath } from "../util/index.ts";
import { inspectIn, listSessionIds } from "./finding.ts";
import { type Home, sessionDirOf } from "./home.ts";
import { transact, withIndex } from "./index-db.ts";

/** File systems may give two changes within this time the same timestamp. */
const TIMESTAMP_GRAIN_MS = 50;

interface Row {
  readonly id: SessionId;
  readonly stamp: string;
  readonly inspected: Inspected;
}

/** All sessions that have a record, oldest first. */
export function inspectAll(home: Home): Promise<Inspected[]> {
  return withIndex(home, (database) => inspectAllWith(home, database));
}

export async function inspectAllWith(home: Home, database: DatabaseSync): Promise<Inspected[]> {
  const ids = await listSessionIds(home);
  const rows = database.prepare("SELECT id, stamp, inspected FROM sessions").all();
  const known = new Map(rows.map((row) => [String(row["id"]), row]));
  const changed: Row[] = [];
  const all: Inspected[] = [];
  for (const id of ids) {
    const row = known.get(id);
    known.delete(id);
    const cached = row && (JSON.parse(String(row["inspected"])) as Inspected);
    const dir = sessionDirOf(home, id);
    // The stamp is taken before the inspection, so a change during it makes the row stale, never wrong.
    const stamp = stampOf(dir, home.io.clock.nowMs());
    const isFresh = cached !== undefined && row?.["stamp"] === stamp && endsAt(dir, cached.position);
    const inspected = isFresh ? cached : await inspect(home, id, usable(cached));
    // A damaged session is inspected each time: a repair may leave the directory's stamp unchanged.
    if (!isFresh && !inspected.damage) changed.push({ id, inspected, stamp });
    if (inspected.state.seq > 0 || inspected.damage) all.push(inspected);
  }
  if (changed.length > 0 || known.size > 0) update(database, changed, [...known.keys()]);
  return all;
}

/** If the journal does not continue from the row, the session is inspected without it. */
async function inspect(home: Home, id: SessionId, row: CachedFold | undefined): Promise<Inspected> {
  const inspected = await inspectIn(home, id, row);
  return row && inspected.damage ? inspectIn(home, id) : inspected;
}

function update(database: DatabaseSync, changed: readonly Row[], gone: readonly string[]): void {
  const put = database.prepare("INSERT OR REPLACE INTO sessions (id, stamp, inspected) VALUES (?, ?, ?)");
  const remove = database.prepare("DELETE FROM sessions WHERE id = ?");
  transact(database, () => {
    for (const { id, stamp, inspected } of changed) put.run(id, stamp, JSON.stringify(inspected));
    for (const id of gone) remove.run(id);
  });
}

/**
 * Changes when a segment is added to the journal or compressed, and when the witness changes. A very recent
 * change could share its timestamp with the next one, so its stamp never equals another.
 */
function stampOf(sessionDir: string, nowMs: number): string {
  const directory = statSync(journalDir(sessionDir), { throwIfNoEntry: false, bigint: true });
  const witness = statSync(witnessPath(sessionDir), { throwIfNoEntry: false, bigint: true });
  const ageMs = nowMs - Number((directory?.mtimeNs ?? 0n) / 1_000_000n);
  const stamp = `${directory?.mtimeNs}:${witness?.mtimeNs}:${witness?.size}`;
  return ageMs > TIMESTAMP_GRAIN_MS ? stamp : `young ${nowMs}`;
}

/** Whether the last segment still has the length that was read. A compressed segment can't grow. */
function endsAt(sessionDir: string, { segment, bytes }: Position): boolean {
  const last = statSync(join(journalDir(sessionDir), segmentName(segment)), { throwIfNoEntry: false });
  return last === undefined || last.size === bytes;
}

function usable(cached: Inspected | undefined): CachedFold | undefined {
  return cached && !cached.damage && cached.state.seq > 0 ? cached : undefined;
}
