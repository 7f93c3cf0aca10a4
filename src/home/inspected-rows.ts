/**
 * Owns the rows of the index that lists are made from: what each session was when it was last looked at.
 * X2 A row is used only while the files it was made from are as they were.
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

/** File systems tell times apart only if they are this far from each other. */
const TIMESTAMP_GRAIN_MS = 50;

interface Row {
  readonly id: SessionId;
  readonly stamp: string;
  readonly inspected: Inspected;
}

/** Every session that has a record, oldest first. */
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
    // Before the look: what changes during it makes the row stale, not wrong.
    const stamp = stampOf(dir, home.io.clock.nowMs());
    const isFresh = cached !== undefined && row?.["stamp"] === stamp && endsAt(dir, cached.position);
    const inspected = isFresh ? cached : await inspect(home, id, usable(cached));
    // What is damaged may be mended without a trace in the directory: it is looked at each time.
    if (!isFresh && !inspected.damage) changed.push({ id, inspected, stamp });
    if (inspected.state.seq > 0 || inspected.damage) all.push(inspected);
  }
  if (changed.length > 0 || known.size > 0) update(database, changed, [...known.keys()]);
  return all;
}

/** A row is no witness: what does not continue it is looked at without it. */
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
 * Changes whenever a segment is added to the journal or compressed, and with the witness. While the change is so young that
 * another could carry the same time, it equals no other stamp.
 */
function stampOf(sessionDir: string, nowMs: number): string {
  const directory = statSync(journalDir(sessionDir), { throwIfNoEntry: false, bigint: true });
  const witness = statSync(witnessPath(sessionDir), { throwIfNoEntry: false, bigint: true });
  const ageMs = nowMs - Number((directory?.mtimeNs ?? 0n) / 1_000_000n);
  const stamp = `${directory?.mtimeNs}:${witness?.mtimeNs}:${witness?.size}`;
  return ageMs > TIMESTAMP_GRAIN_MS ? stamp : `young ${nowMs}`;
}

/** Whether the last segment still has the length that was read. A compressed one can't grow. */
function endsAt(sessionDir: string, { segment, bytes }: Position): boolean {
  const last = statSync(join(journalDir(sessionDir), segmentName(segment)), { throwIfNoEntry: false });
  return last === undefined || last.size === bytes;
}

function usable(cached: Inspected | undefined): CachedFold | undefined {
  return cached && !cached.damage && cached.state.seq > 0 ? cached : undefined;
}
