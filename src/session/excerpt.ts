/**
 * Owns how much of a command's output the journal keeps: its beginning and its end, and a note about what was
 * left out. A cut never leaves a part of a value that redaction would remove as a whole.
 */
import { begunAtEnd, endedAtStart, type Secret, withoutBegun } from "../redaction/index.ts";

/** How much of the beginning and of the end the journal keeps. */
const OUTPUT_HEAD = 32 * 1024;
const OUTPUT_TAIL = 96 * 1024;

/** Marks where output was left out. After a crash the number of bytes is not known. */
export function notKept(why: string, leftBytes: number | null): string {
  return `\n[${leftBytes === null ? "more was" : `${leftBytes} bytes more were`} not kept: ${why}]\n`;
}

/** The beginning and the end of a text that may be long. */
export class Excerpt {
  #head = Buffer.alloc(0);
  /** The end, kept in pieces so that adding a chunk costs no more than the length of the chunk. */
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #left = 0;

  add(chunk: Buffer): void {
    const room = OUTPUT_HEAD - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    const rest = chunk.subarray(Math.max(0, room));
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    if (this.#tailBytes > 2 * OUTPUT_TAIL) this.#cut();
  }

  text(secrets: readonly Secret[] = []): string {
    this.#cut();
    const last = Buffer.concat(this.#tail);
    if (this.#left === 0) return withoutBegun(Buffer.concat([this.#head, last]), secrets).toString("utf8");
    const headBytes = this.#head.length - begunAtEnd(this.#head, secrets);
    const tail = last.subarray(endedAtStart(last, secrets));
    const left = this.#left + (this.#head.length - headBytes) + (last.length - tail.length);
    const head = this.#head.subarray(0, headBytes).toString("utf8");
    return `${head}\n[… ${left} bytes …]\n${withoutBegun(tail, secrets).toString("utf8")}`;
  }

  #cut(): void {
    const whole = Buffer.concat(this.#tail);
    const kept = whole.subarray(-OUTPUT_TAIL);
    this.#left += whole.length - kept.length;
    this.#tail = [Buffer.from(kept)];
    this.#tailBytes = kept.length;
  }
}
