/**
 * Owns the lock that Claude Code takes while it renews its login: a directory that exists while the lock is
 * held, and whose time its holder updates. There are two, one for newer versions of Claude Code and one for
 * older ones. Holdfast takes both, in the same order, so that each waits for the other.
 */
import { mkdirSync, realpathSync, renameSync, rmdirSync, type Stats, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ageMs, type Clock, deadline, errorCode, systemClock, temporaryPath } from "../util/index.ts";
import { loginExpired } from "./login-file.ts";

/** A killed holder updates nothing. Claude Code takes over its lock after this time, too. */
const ABANDONED_MS = 60_000;
/** More often than Claude Code does, which looks for holders that have ended. */
const RENEW_MS = 2000;
/** A renewal is one request. A lock that is held for longer is not waited for. */
const MOST_MS = 20_000;
/** No event tells when a directory is removed. */
const LOOK_MS = 100;

/**
 * Undefined when another process kept the lock for too long. Fails with `login_expired` where no lock can be made, as in
 * a directory that is read-only.
 */
export async function withLoginLock<T>(
  dir: string,
  clock: Clock,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const patience = deadline(clock, MOST_MS);
  const paths = [join(dir, ".oauth_refresh.lock"), `${realpathSync(dir)}.lock`];
  for (;;) {
    const held = takeAll(paths);
    if (held) {
      const renewal = setInterval(() => held.forEach(renew), RENEW_MS);
      try {
        return await work();
      } finally {
        clearInterval(renewal);
        release(held);
      }
    }
    if (patience.isPast) return undefined;
    await sleep(LOOK_MS);
  }
}

interface HeldDir {
  readonly path: string;
  readonly inode: number;
}

function takeAll(paths: readonly string[]): HeldDir[] | undefined {
  const held: HeldDir[] = [];
  try {
    for (const path of paths) {
      if (!isTaken(path)) break;
      held.push({ path, inode: statSync(path).ino });
    }
  } catch (error) {
    release(held);
    throw loginExpired(`can't be renewed: ${errorCode(error) ?? String(error)} when its lock was taken`);
  }
  if (held.length === paths.length) return held;
  release(held);
  return undefined;
}

function release(held: readonly HeldDir[]): void {
  for (const one of held.toReversed()) if (isOurs(one)) rmdirSync(one.path);
}

function isTaken(path: string): boolean {
  if (isMade(path)) return true;
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && isAbandoned(stats) && isCleared(path) && isMade(path);
}

const isAbandoned = (stats: Stats) => ageMs(stats) >= ABANDONED_MS;

function isMade(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    return false;
  }
}

/**
 * Removes an abandoned lock, if no other process was faster. By now the lock may be a new one of such a
 * process: so it is looked at again where nobody else removes it, and put back.
 */
export function isCleared(path: string): boolean {
  const aside = temporaryPath(path);
  try {
    renameSync(path, aside);
    if (isAbandoned(statSync(aside))) {
      rmdirSync(aside);
      return true;
    }
    renameSync(aside, path);
  } catch {
    // Another process was faster.
  }
  return false;
}

const isOurs = ({ path, inode }: HeldDir) => statSync(path, { throwIfNoEntry: false })?.ino === inode;

function renew(one: HeldDir): void {
  const now = systemClock.nowMs() / 1000;
  if (isOurs(one)) utimesSync(one.path, now, now);
}
