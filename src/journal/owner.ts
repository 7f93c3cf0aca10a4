/**
 * Owns the answer to "who may write?": `owner.lock`, an OS lock that dies with its process (J3).
 *
 * O1 Nothing but SQLite opens owner.lock, ever: on POSIX, closing any other descriptor of it in the owner's
 *    process would drop the lock. So it is never read, copied or unlinked; who holds it stands in owner.json.
 * O2 owner.json is a hint for people and for takeovers; the lock alone decides.
 */
import { chmodSync, existsSync, readFileSync, rmSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../contract/index.ts";
import { parseObject, temporaryPath } from "../util/index.ts";

const LOCK_FILE = "owner.lock";
const OWNER_FILE = "owner.json";
const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;
/** How long a new owner may take to write its name, and a probe to let go. */
const SETTLE_MS = 1000;
const RETRY_MS = 10;
/** How long an owner that was sent SIGKILL may take to be gone. */
const TAKEOVER_MS = 10_000;

export interface Owner {
  readonly pid: number;
  /** From the kernel, in ticks since boot: tells a reused pid apart. Null where the system doesn't say. */
  readonly startTicks: number | null;
}

export interface OwnerLock {
  release(): void;
  /** The directory was renamed: the lock is on the file, wherever it stands now. */
  relocate(sessionDir: string): void;
}

/** Fails with `session_owned`, which names the pid, while another process (or this one) holds the lock. */
export async function acquireOwner(sessionDir: string): Promise<OwnerLock> {
  const deadline = Date.now() + SETTLE_MS;
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
    if ((owner && isAlive(owner)) || Date.now() > deadline) {
      const who = owner ? `process ${owner.pid}` : "another process";
      throw new HoldfastError("session_owned", `the session is open in ${who}`, { pid: owner?.pid ?? null });
    }
    await sleep(RETRY_MS);
  }
}

/** Ends the process that owns the session, waits until it is gone, and becomes the owner. */
export async function takeOver(sessionDir: string): Promise<OwnerLock> {
  const deadline = Date.now() + TAKEOVER_MS;
  for (;;) {
    try {
      return await acquireOwner(sessionDir);
    } catch (error) {
      const owner = readOwner(sessionDir);
      if (!owner || owner.pid === process.pid || owner.startTicks === null || Date.now() > deadline)
        throw error;
      if (isAlive(owner)) process.kill(owner.pid, "SIGKILL");
      await sleep(RETRY_MS);
    }
  }
}

/** Whether somebody holds the lock right now, and who, as far as is known. */
export function probeOwner(sessionDir: string): { held: boolean; owner: Owner | undefined } {
  const owner = readOwner(sessionDir);
  // A clean release removes owner.json, and a process that is gone holds no lock: most sessions end here.
  if (!owner || !isAlive(owner)) return { held: false, owner };
  const lock = tryLock(sessionDir);
  lock?.drop();
  return { held: lock === undefined, owner };
}

function tryLock(sessionDir: string): (OwnerLock & { drop(): void }) | undefined {
  const path = join(sessionDir, LOCK_FILE);
  const isNew = !existsSync(path);
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // By its name, not through a descriptor (O1).
    if (isNew) chmodSync(path, 0o600);
    // Without a journal file: its name would be left behind when the directory is renamed.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
    if (code === SQLITE_BUSY) return undefined;
    if (code === SQLITE_FULL)
      throw new HoldfastError("disk_full", "the disk is full: the session can't be locked");
    throw error;
  }
  let isHeld = true;
  let at = sessionDir;
  const drop = () => {
    if (isHeld) database.close();
    isHeld = false;
  };
  const release = () => {
    // First the name, then the lock: a name without a lock would be a lie for longer.
    try {
      if (isHeld) rmSync(join(at, OWNER_FILE), { force: true });
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
  const path = join(sessionDir, OWNER_FILE);
  const temporary = temporaryPath(path);
  const owner: Owner = { pid: process.pid, startTicks: startTicksOf(process.pid) };
  await writeFile(temporary, `${JSON.stringify(owner)}\n`, { mode: 0o600, flag: "wx" });
  await rename(temporary, path);
}

function readOwner(sessionDir: string): Owner | undefined {
  const path = join(sessionDir, OWNER_FILE);
  // Asked for every session of a list, and mostly there is none: no promise, no exception for that.
  if (!existsSync(path)) return undefined;
  const value = parseObject(readTextOr(path, ""));
  if (!value || !Number.isSafeInteger(value["pid"]) || (value["pid"] as number) <= 0) return undefined;
  const startTicks = value["startTicks"];
  return { pid: value["pid"] as number, startTicks: typeof startTicks === "number" ? startTicks : null };
}

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  return owner.startTicks === null || owner.startTicks === startTicksOf(owner.pid);
}

function startTicksOf(pid: number): number | null {
  const stat = readTextOr(`/proc/${pid}/stat`, undefined);
  // The name in parentheses may hold anything, so count fields from behind it: field 22 of proc(5).
  return stat === undefined ? null : Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
}

function readTextOr<T>(path: string, otherwise: T): string | T {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}
