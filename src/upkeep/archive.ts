/**
 * Owns archiving: a session that is over is checked, marked and compressed, all while its lock is held. It
 * stays readable, and `resume` opens it again.
 *
 * The steps, and what a crash after each leaves: the record `session_archived` is written (archived, not yet
 * compressed: gc finishes); some files are compressed (each exists in at least one form: gc finishes).
 *
 * archive-1 Nothing is removed unless every byte was found good under the lock.
 */
import { readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { sweepTrash } from "../capsule/index.ts";
import { HoldfastError, isHoldfastError } from "../contract/index.ts";
import type { FoundSession, Home } from "../home/index.ts";
import { compressJournal, damaged } from "../journal/index.ts";
import { nextStatus, Session, type SessionState } from "../session/index.ts";
import { giveBackCaches, keeperOf, locatingDamage, roomOf, tearDown } from "../task/index.ts";
import { blobsDir, journalDir, trashDir } from "../util/index.ts";
import { auditJournal } from "./checking/audit-journal.ts";

const PLAIN_BLOB = /^[0-9a-f]{64}$/;

export interface Archived {
  /** How many bytes of caches in HOME were freed. */
  readonly cacheBytes: number;
}

export async function archiveSession(home: Home, found: FoundSession): Promise<Archived> {
  let cacheBytes = 0;
  await asOwner(home, found, assertArchivable, async (session) => {
    cacheBytes = await putFilesAway(home, session);
    await session.record("session_archived", {});
  });
  await sweepTrash(trashDir(home.dir));
  return { cacheBytes };
}

/** Its files stay in their snapshot: an archive keeps no capsule and no caches. */
async function putFilesAway(home: Home, session: Session): Promise<number> {
  if (session.state.task?.capsule === "there") {
    const room = await roomOf(home, session);
    return (await locatingDamage(home, keeperOf(home, session), () => tearDown(room))).cacheBytes;
  }
  try {
    return await giveBackCaches(await roomOf(home, session));
  } catch (error) {
    // Without its repo, or with settings that can't be read, it is unknown which paths its checkpoints leave
    // out.
    if (!isHoldfastError(error)) throw error;
    return 0;
  }
}

/** Finishes what a crash cut off. Does nothing if the session was resumed meanwhile. */
export async function finishArchiving(home: Home, found: FoundSession): Promise<void> {
  await asOwner(home, found, assertArchived, async () => {});
}

function assertArchivable({ status }: SessionState): void {
  if (nextStatus(status, "session_archived") !== undefined) return;
  const wayOut = status === "archived" ? "" : ": close it first";
  throw new HoldfastError("illegal_transition", `a session that is ${status} can't be archived${wayOut}`, {
    status,
  });
}

function assertArchived({ status }: SessionState): void {
  if (status !== "archived")
    throw new HoldfastError("illegal_transition", `the session is ${status} again, and was not archived`, {
      status,
    });
}

/** archive-1: one owner from the check of the state to the last compressed file. */
async function asOwner(
  home: Home,
  { id, dir }: FoundSession,
  admit: (state: SessionState) => void,
  mark: (session: Session) => Promise<void>,
): Promise<void> {
  const session = await Session.own({ sessionDir: dir, id, io: home.io, admit });
  try {
    const { findings, goodBlobs } = await auditJournal(dir, home.onProgress);
    const [damage] = findings;
    if (damage) throw damaged(damage);
    await mark(session);
    await session.release(async () => {
      for (const name of await plainBlobs(dir)) {
        // It was stored for a record that a crash prevented, so no record names it.
        if (!goodBlobs.has(name)) await unlink(join(blobsDir(dir), name));
      }
      await compressJournal(home.io.disk, dir, home.onProgress);
    });
  } finally {
    await session.release();
  }
}

async function plainBlobs(dir: string): Promise<string[]> {
  return (await readdir(blobsDir(dir))).filter((name) => PLAIN_BLOB.test(name));
}

/** An archive that a crash left half compressed. */
export async function isPartlyCompressed(dir: string): Promise<boolean> {
  const segments = (await readdir(journalDir(dir))).filter((name) => name.endsWith(".jsonl"));
  return segments.length + (await plainBlobs(dir)).length > 0;
}
