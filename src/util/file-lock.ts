/**
 * Owns the only kind of lock in Holdfast: SQLite's lock on a file, which the OS releases when its process
 * ends.
 *
 * lock-1 Only SQLite opens a lock file, ever: on POSIX, closing any other descriptor of it in the holder's
 *    process would release the lock. So the file is never read, copied or unlinked while it may be held.
 */
import { chmodSync, existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../contract/index.ts";

const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;
const RETRY_MS = 3;
const RETRY_MAX_MS = 40;

export interface FileLock {
  /** Releases the lock. A second call does nothing. */
  drop(): void;
}

/** Undefined while another process, or another part of this one, holds it. */
export function tryFileLock(path: string): FileLock | undefined {
  const isNew = !existsSync(path);
  // Not imported: on a Node without SQLite, the command line must still start and report that.
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // By its name, not through a descriptor (lock-1).
    if (isNew) chmodSync(path, 0o600);
    // Without a journal file, whose name would be left behind when the directory is renamed.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
    if (code === SQLITE_BUSY) return undefined;
    if (code === SQLITE_FULL)
      throw new HoldfastError("disk_full", "the disk is full: the lock could not be taken", { path });
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

/** Waits for the lock until it is free or `signal` is aborted, and holds it while `work` runs. */
export async function withFileLock<T>(
  path: string,
  work: () => Promise<T>,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<T> {
  let delayMs = RETRY_MS;
  for (;;) {
    if (signal?.aborted) throw new HoldfastError("interrupted", "the wait for a lock was cancelled");
    const lock = tryFileLock(path);
    if (lock) {
      try {
        return await work();
      } finally {
        lock.drop();
      }
    }
    // A SQLite lock does not notify when it becomes free. The random factor keeps waiters from trying all at
    // once.
    await sleep(delayMs * (0.5 + Math.random()));
    delayMs = Math.min(delayMs * 1.5, RETRY_MAX_MS);
  }
}
