/**
 * Owns the answer to "who may write?": `owner.lock`, an OS lock that ends with its process (journal-3).
 *
 * owner-1 Only the lock opens owner.lock, ever (lock-1 of util/file-lock.ts). The name of the holder is in
 *    owner.json.
 * owner-2 owner.json is a hint for people and for takeovers. The lock alone decides.
 */
import { existsSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../contract/index.ts";
import {
  deadline,
  isAlive,
  ownerLockPath,
  ownerPath,
  type ProcessIdentity,
  parseIdentity,
  parseObject,
  readTextOr,
  signalIfThere,
  systemClock,
  tryFileLock,
  writeProcessFile,
} from "../util/index.ts";

/** How long a new owner may take to write its name, and a probe may take to release the lock. */
const SETTLE_MS = 1000;
/** A SQLite lock does not notify when it becomes free. */
const RETRY_MS = 10;
/** How long an owner may take to end after SIGKILL. */
const TAKEOVER_MS = 10_000;

export interface OwnerLock {
  release(): void;
  /** The directory was renamed. The lock stays on the file at its new path. */
  relocate(sessionDir: string): void;
}

/** Fails with `session_owned`, which names the pid, while another process (or this one) holds the lock. */
export async function acquireOwner(sessionDir: string): Promise<OwnerLock> {
  const patience = deadline(systemClock, SETTLE_MS);
  for (;;) {
    const lock = tryLock(sessionDir);
    if (lock) {
      try {
        await nameOwner(sessionDir);
      } catch (error) {
        lock.drop();
        throw error;
      }
      return lock;
    }
    const owner = readOwner(sessionDir);
    if ((owner && isAlive(owner)) || patience.isPast) {
      const who = owner ? `process ${owner.pid}` : "another process";
      throw new HoldfastError("session_owned", `the session is open in ${who}`, { pid: owner?.pid ?? null });
    }
    await sleep(RETRY_MS);
  }
}

/** Ends the process that owns the session, waits until it has ended, and becomes the owner. */
export async function takeOver(sessionDir: string): Promise<OwnerLock> {
  const patience = deadline(systemClock, TAKEOVER_MS);
  for (;;) {
    try {
      return await acquireOwner(sessionDir);
    } catch (error) {
      const owner = readOwner(sessionDir);
      if (!owner || owner.pid === process.pid || owner.startTicks === null || patience.isPast) throw error;
      if (isAlive(owner)) signalIfThere(owner.pid, "SIGKILL");
      await sleep(RETRY_MS);
    }
  }
}

/** Whether a process holds the lock right now, and which one, as far as is known. */
export function probeOwner(sessionDir: string): { held: boolean; owner: ProcessIdentity | undefined } {
  const owner = readOwner(sessionDir);
  // Most sessions take this path: a clean release removes owner.json, and a process that has ended holds no
  // lock.
  if (!owner || !isAlive(owner)) return { held: false, owner };
  const lock = tryLock(sessionDir);
  lock?.drop();
  return { held: lock === undefined, owner };
}

function tryLock(sessionDir: string): (OwnerLock & { drop(): void }) | undefined {
  const lock = tryFileLock(ownerLockPath(sessionDir));
  if (!lock) return undefined;
  let isHeld = true;
  let at = sessionDir;
  const drop = () => {
    lock.drop();
    isHeld = false;
  };
  const release = () => {
    // The name is removed before the lock: a name without a lock would be wrong for longer.
    try {
      if (isHeld) rmSync(ownerPath(at), { force: true });
    } finally {
      drop();
    }
  };
  const relocate = (to: string) => {
    at = to;
  };
  return { release, relocate, drop };
}

async function nameOwner(sessionDir: string): Promise<void> {
  await writeProcessFile(ownerPath(sessionDir));
}

function readOwner(sessionDir: string): ProcessIdentity | undefined {
  const path = ownerPath(sessionDir);
  // Called for every session in a list, and most have no owner: so it uses no promise and no exception.
  return existsSync(path) ? parseIdentity(parseObject(readTextOr(path, ""))) : undefined;
}
