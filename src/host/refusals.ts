/**
 * Owns the count of requests that a session's door refused. It is in a file beside the journal, never in the
 * journal.
 */
import { renameSync, writeFileSync } from "node:fs";
import { parseObject, readTextOr, refusalsPath, temporaryPath } from "../util/index.ts";

/** However many come, the file is written only this often. */
const WRITE_MS = 200;

export class RefusalCount {
  readonly #sessionDir: string;
  #count: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(sessionDir: string) {
    this.#sessionDir = sessionDir;
    this.#count = readRefusals(sessionDir);
  }

  add(): void {
    this.#count += 1;
    this.#timer ??= setTimeout(() => this.write(), WRITE_MS);
  }

  write(): void {
    if (!this.#timer) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const path = refusalsPath(this.#sessionDir);
    const temporary = temporaryPath(path);
    try {
      writeFileSync(temporary, `${JSON.stringify({ refused: this.#count })}\n`, { mode: 0o600, flag: "wx" });
      renameSync(temporary, path);
    } catch {
      // A count is not worth a session: the disk may be full, and the next count is written again.
    }
  }
}

/** How many requests at this session's door did not have its token. */
export function readRefusals(sessionDir: string): number {
  const count = parseObject(readTextOr(refusalsPath(sessionDir), ""))?.["refused"];
  return typeof count === "number" ? count : 0;
}
