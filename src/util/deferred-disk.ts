/**
 * Owns a disk that syncs everything at once, for a directory that no other process can see yet: before its
 * rename, order does not matter. Until `settle` every sync is only noted. `settle` runs them side by side.
 * After that, each sync runs when it is asked for.
 */
import type { Disk, DiskFile } from "./disk.ts";

export interface DeferredDisk extends Disk {
  settle(): Promise<void>;
}

export function deferSyncs(disk: Disk): DeferredDisk {
  const noted = new Map<string | DiskFile, () => Promise<void>>();
  const closing = new Map<DiskFile, () => Promise<void>>();
  let isSettled = false;

  const note = async (what: string | DiskFile, sync: () => Promise<void>): Promise<void> => {
    if (isSettled) await sync();
    else noted.set(what, sync);
  };

  return {
    mkdir: (path) => disk.mkdir(path),
    rename: (from, to) => disk.rename(from, to),
    link: (existing, path) => disk.link(existing, path),
    unlink: (path) => disk.unlink(path),
    removeTree: (path) => disk.removeTree(path),
    makeRoom: () => disk.makeRoom(),
    syncDir: (path) => note(path, () => disk.syncDir(path)),
    async create(path) {
      const file = await disk.create(path);
      return {
        write: (bytes, position) => file.write(bytes, position),
        truncate: (length) => file.truncate(length),
        datasync: () => note(file, () => file.datasync()),
        // Files that are still to be synced are closed after that.
        close: async () => {
          if (noted.has(file)) closing.set(file, () => file.close());
          else await file.close();
        },
      };
    },
    async settle() {
      isSettled = true;
      const syncs = [...noted.values()];
      noted.clear();
      const results = await Promise.allSettled(syncs.map((sync) => sync()));
      for (const close of closing.values()) await close();
      const failed = results.find((result) => result.status === "rejected");
      if (failed) throw failed.reason;
    },
  };
}
