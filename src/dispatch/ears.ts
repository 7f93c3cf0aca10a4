/**
 * Owns hearing about a session: from the bell of the process that has it, or, if there is no bell, from the
 * files that come and go with an owner, a session process and a place in the line. All that is heard is that
 * it is time to look.
 */
import { type FoundSession, type Home, readProcessRecord } from "../home/index.ts";
import { placePath } from "../line/index.ts";
import { type Listening, listen } from "../mail/index.ts";
import { ownerPath, processRecordPath, WatchedFiles } from "../util/index.ts";

/**
 * A process that is killed rings no bell and changes no file, so the caller looks now and then in any case.
 */
const LOOK_MS = 250;

export class Ears {
  readonly #files: readonly string[];
  readonly #sessionDir: string;
  #path: string | null = null;
  #bell: Listening | undefined;
  #watched: WatchedFiles | undefined;

  constructor(home: Home, { id, dir }: FoundSession) {
    this.#sessionDir = dir;
    this.#files = [ownerPath(dir), processRecordPath(dir), placePath(home, id)];
  }

  /**
   * Resolves when something may have changed, or after a short time in any case; at once when it is called
   * first.
   */
  next(): Promise<void> {
    const path = readProcessRecord(this.#sessionDir)?.bell ?? null;
    if (path !== this.#path) {
      this.#bell?.close();
      this.#bell = path === null ? undefined : listen(path);
      this.#path = path;
    }
    if (this.#bell && !this.#bell.isOver) return this.#bell.next(LOOK_MS);
    this.#watched ??= new WatchedFiles(this.#files);
    return this.#watched.next(LOOK_MS);
  }

  close(): void {
    this.#bell?.close();
    this.#watched?.close();
  }
}
