/**
 * Owns waiting for a small file to appear, to be replaced or to go. The kernel notifies of that, but only for
 * a limited number of watches, and a process that is killed changes no file. So each wait has a time limit,
 * after which the caller looks by itself.
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
        // The directory does not exist, or too many are watched. Then only the time limits of the waits are
        // left.
        return [];
      }
    });
  }

  /**
   * Resolves when one of the files has changed, or after the time. Resolves at once if one has changed since
   * the last wait.
   */
  next(timeoutMs: number): Promise<void> {
    return this.#news.next(timeoutMs);
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close();
  }
}
