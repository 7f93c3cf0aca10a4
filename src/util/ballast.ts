/**
 * Owns a disk with ballast: a file that only takes space. When the disk is full, the file is dropped to make
 * room for the little that must still be written: records, and the tidying that makes more room.
 */
import { existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import { deadline } from "./deadline.ts";
import { type Disk, isDiskFull } from "./disk.ts";

/**
 * A program that fills the disk is stopped within this time. If the ballast were dropped earlier, that
 * program would only fill the space.
 */
const PATIENCE_MS = 10_000;
/** The kernel does not notify when space becomes free. */
const LOOK_MS = 50;
/** With this much free space the ballast is not needed yet. */
const ENOUGH_BYTES = 8 * 1024 * 1024;

export function withBallast(disk: Disk, clock: Clock, ballast: string): Disk {
  const makeRoom = async () => {
    if (!existsSync(ballast)) return false;
    for (const patience = deadline(clock, PATIENCE_MS); !patience.isPast; ) {
      if (freeBytes(dirname(ballast)) >= ENOUGH_BYTES) return true;
      await sleep(LOOK_MS);
    }
    await disk.unlink(ballast).catch(() => {});
    return true;
  };
  const again = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (!isDiskFull(error) || !(await makeRoom())) throw error;
      return work();
    }
  };
  return {
    makeRoom,
    mkdir: (path) => again(() => disk.mkdir(path)),
    rename: (from, to) => again(() => disk.rename(from, to)),
    link: (existing, path) => again(() => disk.link(existing, path)),
    unlink: (path) => disk.unlink(path),
    removeTree: (path) => disk.removeTree(path),
    syncDir: (path) => disk.syncDir(path),
    async create(path) {
      const file = await again(() => disk.create(path));
      return {
        write: (bytes, position) => again(() => file.write(bytes, position)),
        truncate: (length) => file.truncate(length),
        // After a failed sync it is unknown what is on the disk, so the sync is not tried again.
        datasync: () => file.datasync(),
        close: () => file.close(),
      };
    },
  };
}

export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}
