/**
 * Owns the one kind of lock there is: SQLite's on a file, which the OS drops with the process that holds it.
 *
 * L1 Nothing but SQLite opens a lock file, ever: on POSIX, closing any other descriptor of it in the holder's
 *    process would drop the lock. So it is never read, copied or unlinked while it may be held.
 */
import { chmodSync, existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../contract/index.ts";

const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;
const RETRY_MS = 3;
const RETRY_MAX_MS = 40;

export interface FileLock {
  /** Gives it back; a second call does nothing. */
  drop(): void;
}

/** Undefined while another process, or another part of this one, holds it. */
export function tryFileLock(path: string): FileLock | undefined {
  const isNew = !existsSync(path);
  // Not imported: the command line must start, and say so, on a Node that has no SQLite.
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // By its name, not through a descriptor (L1).
    if (isNew) chmodSync(path, 0o600);
    // Without a journal file: its name would be left behind when the directory is renamed.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
    if (code === SQLITE_BUSY) return undefined;
    if (code === SQLITE_FULL)
      throw new HoldfastError("disk_full", "the disk is full: a lock can't be taken", { path });
    throw error;
  }
  let isHeld = true;
  return {
    drop() {
      if (isHeld) database.close();
      isHeld = false;
    },
  };
}

/** Waits for the lock, however long its holder lives or until nobody wants it any more, and holds it while `work` runs. */
export async function withFileLock<T>(
  path: string,
  work: () => Promise<T>,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<T> {
  let delayMs = RETRY_MS;
  for (;;) {
    if (signal?.aborted) throw new HoldfastError("interrupted", "nobody waits for it any more");
    const lock = tryFileLock(path);
    if (lock) {
      try {
        return await work();
      } finally {
        lock.drop();
      }
    }
    // A lock of SQLite's tells nobody when it is free; and those who wait for it must not all try at once.
    await sleep(delayMs * (0.5 + Math.random()));
    delayMs = Math.min(delayMs * 1.5, RETRY_MAX_MS);
  }
}
