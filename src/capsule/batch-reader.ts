/**
 * Owns the taking apart of what `git cat-file --batch` says: contents, one after the other, as their bytes come.
 */
import { HoldfastError } from "../contract/index.ts";

const MAX_HEADER_BYTES = 1024;

export class BatchReader {
  readonly #onContent: (index: number, bytes: Buffer, isLast: boolean) => void;
  #rest: Buffer = Buffer.alloc(0);
  /** Of the content that is being read; -1 before its header. */
  #missing = -1;
  #isAtEnd = false;
  done = 0;

  constructor(onContent: (index: number, bytes: Buffer, isLast: boolean) => void) {
    this.#onContent = onContent;
  }

  push(chunk: Buffer): void {
    this.#rest = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    while (this.#rest.length > 0) {
      if (this.#isAtEnd) {
        this.#rest = this.#rest.subarray(1);
        this.#isAtEnd = false;
        continue;
      }
      if (this.#missing < 0 && !this.#readHeader()) return;
      const bytes = this.#rest.subarray(0, this.#missing);
      this.#rest = this.#rest.subarray(bytes.length);
      this.#missing -= bytes.length;
      this.#onContent(this.done, bytes, this.#missing === 0);
      if (this.#missing > 0) return;
      this.done += 1;
      this.#missing = -1;
      this.#isAtEnd = true;
    }
  }

  #readHeader(): boolean {
    const end = this.#rest.indexOf("\n");
    if (end < 0 && this.#rest.length < MAX_HEADER_BYTES) return false;
    const size = /^[0-9a-f]{40,64} blob (\d{1,15})$/.exec(
      this.#rest.toString("latin1", 0, Math.max(0, end)),
    )?.[1];
    if (size === undefined)
      throw new HoldfastError("snapshot_invalid", "a content of the snapshot is missing from the store");
    this.#rest = this.#rest.subarray(end + 1);
    this.#missing = Number(size);
    return true;
  }
}
