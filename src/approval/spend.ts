/**
 * Owns spending an approval: a file for each in `spent/` of the home, which is made once and stays. It
 * belongs to the home and not to the session, so an older copy of a session's directory revives no grant.
 *
 * spend-1 Of all attempts, in whichever process, exactly one spends it.
 * spend-2 When spending resolves, it survives a loss of power. A kill before that may leave a grant spent
 *    without an effect, but never an effect with an unspent grant.
 */
import { closeSync, constants, fsyncSync, lstatSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { HoldfastError, type JsonObject } from "../contract/index.ts";
import { errorCode, isOwnUid, sealJson, spentDir, systemClock } from "../util/index.ts";

/**
 * The disk operations of spending. They block the thread: a person has just decided, nothing else is as
 * urgent, and each round through Node's thread pool would cost as much as the write itself.
 */
export interface SpendingDisk {
  /** Fails with EEXIST when the name is taken. */
  create(path: string, bytes: Uint8Array): void;
  mkdir(path: string): void;
  /** Makes the names in this directory durable. */
  syncDir(path: string): void;
}

const spendingDisk: SpendingDisk = {
  create: (path, bytes) => writeFileSync(path, bytes, { flag: "wx", mode: 0o600 }),
  mkdir: (path) => mkdirSync(path, { mode: 0o700 }),
  syncDir(path) {
    const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  },
};

/** False: it was already spent. `facts` are for a person who looks into it later. */
export function spend(
  homeDir: string,
  approval: string,
  facts: JsonObject,
  disk: SpendingDisk = spendingDisk,
): boolean {
  const path = spentPath(homeDir, approval);
  assertDir(disk, dirname(path));
  try {
    // Only its name counts, and the directory is synced. The content may be lost with the power.
    disk.create(path, sealJson({ approval, ...facts }));
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
  disk.syncDir(dirname(path));
  return true;
}

/** Any file of that name counts, even one whose writing was cut off. */
export function wasSpent(homeDir: string, approval: string): boolean {
  return lstatSync(spentPath(homeDir, approval), { throwIfNoEntry: false }) !== undefined;
}

/** For this long, another process may have made the directory and not synced it yet. */
const NEW_MS = 60_000;

function assertDir(disk: SpendingDisk, path: string): void {
  let stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) {
    makeDir(disk, path);
    stats = lstatSync(path);
  }
  if (!stats.isDirectory() || !isOwnUid(stats.uid))
    throw new HoldfastError("unsafe_permissions", `${path} is not a directory, or belongs to another user`, {
      path,
    });
  // A file system that does not store the time of creation reports 0, or the time of the last change.
  const ageMs = systemClock.nowMs() - stats.birthtimeMs;
  const isOld = ageMs >= NEW_MS && stats.birthtimeMs !== 0;
  if (isOld || synced.has(`${path} ${stats.ino}`)) return;
  disk.syncDir(dirname(path));
  synced.add(`${path} ${stats.ino}`);
}

/** Another process may make it at the same moment. */
function makeDir(disk: SpendingDisk, path: string): void {
  try {
    disk.mkdir(path);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** Directories whose own names this process has synced. Once is enough. */
const synced = new Set<string>();

/** The id becomes part of a path, so its form is checked first. */
function spentPath(homeDir: string, approval: string): string {
  if (!/^appr_[a-z0-9]{1,60}$/.test(approval))
    throw new HoldfastError("grant_invalid", `${JSON.stringify(approval)} is not the id of an approval`);
  return join(spentDir(homeDir), approval);
}
