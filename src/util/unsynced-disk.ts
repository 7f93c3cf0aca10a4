/**
 * Owns a disk on which nothing is synced: for files that the next process clears away after a crash.
 */
import type { Disk } from "./disk.ts";

export function withoutSyncs(disk: Disk): Disk {
  return {
    mkdir: (path) => disk.mkdir(path),
    rename: (from, to) => disk.rename(from, to),
    link: (existing, path) => disk.link(existing, path),
    unlink: (path) => disk.unlink(path),
    removeTree: (path) => disk.removeTree(path),
    makeRoom: () => disk.makeRoom(),
    syncDir: async () => {},
    async create(path) {
      const file = await disk.create(path);
      return {
        write: (bytes, position) => file.write(bytes, position),
        truncate: (length) => file.truncate(length),
        datasync: async () => {},
        close: () => file.close(),
      };
    },
  };
}
