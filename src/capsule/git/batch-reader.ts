/**
 * Owns the parsing of the output of `git cat-file --batch`: objects, one after the other, as their bytes
 * come.
 *
 * git-2 Git does not compare what it reads from a pack with the id that was asked for. This code does: it
 *    refuses an object whose bytes do not give its id, at its last byte.
 */
import { createHash, type Hash } from "node:crypto";
import { HoldfastError } from "../../contract/index.ts";

const MAX_HEADER_BYTES = 64 * 1024;
const HEADER = /^([0-9a-f]{40,64}) (blob|tree|commit) (\d{1,15})$/;

type OnContent = (index: number, bytes: Buffer, isLast: boolean) => void;
type OnBad = (index: number, reason: string) => void;

export class BatchReader {
  readonly #onContent: OnContent;
  readonly #onBad: OnBad;
  #rest: Buffer = Buffer.alloc(0);
  /** How many bytes of the current content are still missing; -1 before its header. */
  #missing = -1;
  #isAtEnd = false;
  #id = "";
  #digest: Hash | undefined;
  done = 0;

  /**
   * `onBad` is called for an object that is missing or does not have its id. Without it, reading ends there.
   */
  constructor(onContent: OnContent, onBad: OnBad = refuse) {
    this.#onContent = onContent;
    this.#onBad = onBad;
  }

  push(chunk: Buffer): void {
    this.#rest = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    while (this.#rest.length > 0) {
      if (this.#isAtEnd) {
        this.#rest = this.#rest.subarray(1);
        this.#isAtEnd = false;
        continue;
      }
      if (this.#missing < 0) {
        const end = this.#rest.indexOf("\n");
        if (end < 0 && this.#rest.length < MAX_HEADER_BYTES) return;
        this.#readHeader(end);
        if (this.#missing < 0) continue;
      }
      const bytes = this.#rest.subarray(0, this.#missing);
      this.#rest = this.#rest.subarray(bytes.length);
      this.#missing -= bytes.length;
      this.#digest?.update(bytes);
      this.#onContent(this.done, bytes, this.#missing === 0);
      if (this.#missing > 0) return;
      if (this.#digest?.digest("hex") !== this.#id) this.#onBad(this.done, "its bytes do not match its id");
      this.done += 1;
      this.#missing = -1;
      this.#isAtEnd = true;
    }
  }

  #readHeader(end: number): void {
    const header = this.#rest.toString("latin1", 0, Math.max(0, end));
    const [, id = "", type = "", size = ""] = HEADER.exec(header) ?? [];
    this.#rest = this.#rest.subarray(end + 1);
    if (id === "") {
      this.#onBad(this.done, "it is missing from the store, or can't be read there");
      this.done += 1;
      return;
    }
    this.#id = id;
    this.#digest = createHash(id.length === 64 ? "sha256" : "sha1").update(`${type} ${size}\0`);
    this.#missing = Number(size);
  }
}

function refuse(_index: number, reason: string): never {
  throw new HoldfastError("snapshot_invalid", `a content of the snapshot is damaged: ${reason}`);
}
