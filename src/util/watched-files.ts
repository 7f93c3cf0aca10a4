/**
 * Owns waiting for a small file to come, to be replaced or to go. The kernel tells of that; but it watches for a
 * limited number of processes only, and a process that is killed changes no file. So each wait has a time after which
 * the caller looks by itself.
 */
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { News } from "./news.ts";

export class WatchedFiles {
  readonly #news = new News();
  readonly #watchers: FSWatcher[];

  constructor(paths: readonly string[]) {
    this.#watchers = paths.flatMap((path) => {
      try {
        const name = basename(path);
        const watcher = watch(dirname(path), { persistent: false }, (_, changed) => {
          if (changed === null || changed === name) this.#news.tell();
        });
        return [watcher.on("error", () => {})];
      } catch {
        // Its directory is not there, or too many are watched: then the time of each wait is all there is.
        return [];
      }
    });
  }

  /** Resolves when one of them has changed, or after the time; at once if one has since the last wait. */
  next(timeoutMs: number): Promise<void> {
    return this.#news.next(timeoutMs);
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close();
  }
}
