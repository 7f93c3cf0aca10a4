/**
 * Owns the lock that Claude Code takes while it renews its login: a directory that is there while it is held, whose
 * time its holder renews. There are two: the one that its newer versions look at, and the one of older ones. We take
 * both, in its order, so that it waits for us as we wait for it.
 */
import { mkdirSync, realpathSync, rmdirSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ageMs, type Clock, deadline, errorCode, systemClock } from "../util/index.ts";

/** A holder that was killed renews nothing: Claude Code takes its lock after this time, too. */
const ABANDONED_MS = 60_000;
/** More often than Claude Code does: it looks for holders that are gone. */
const RENEW_MS = 2000;
/** A renewal is one request; whoever holds it longer is not waited for. */
const MOST_MS = 20_000;
/** A directory tells nobody when it is gone. */
const LOOK_MS = 100;

export interface LoginLock {
  /** False after another took it from us. */
  isHeld(): boolean;
}

/** Undefined when it could not be had. */
export async function withLoginLock<T>(
  dir: string,
  clock: Clock,
  work: (lock: LoginLock) => Promise<T>,
): Promise<T | undefined> {
  const patience = deadline(clock, MOST_MS);
  const paths = [join(dir, ".oauth_refresh.lock"), `${realpathSync(dir)}.lock`];
  for (;;) {
    const held = takeAll(paths);
    if (held) {
      const renewal = setInterval(() => held.forEach(renew), RENEW_MS);
      try {
        return await work({ isHeld: () => held.every(isOurs) });
      } finally {
        clearInterval(renewal);
        for (const one of held.toReversed()) if (isOurs(one)) rmdirSync(one.path);
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
  for (const path of paths) {
    if (!isTaken(path)) {
      for (const { path: mine } of held.toReversed()) rmdirSync(mine);
      return undefined;
    }
    held.push({ path, inode: statSync(path).ino });
  }
  return held;
}

function isTaken(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats || ageMs(stats) < ABANDONED_MS) return false;
  try {
    rmdirSync(path);
    mkdirSync(path);
    return true;
  } catch {
    // Another one was faster.
    return false;
  }
}

const isOurs = ({ path, inode }: HeldDir) => statSync(path, { throwIfNoEntry: false })?.ino === inode;

function renew(one: HeldDir): void {
  const now = systemClock.nowMs() / 1000;
  if (isOurs(one)) utimesSync(one.path, now, now);
}
