/**
 * Owns how much of a command's output is in the journal, its beginning and its end, and how it is said that some was not
 * kept. Where it is cut, no part of a value is left that is to be taken out as a whole.
 */
import { begunAtEnd, endedAtStart, type Secret, withoutBegun } from "../redaction/index.ts";

/** So much of it stands in the journal. */
const OUTPUT_HEAD = 32 * 1024;
const OUTPUT_TAIL = 96 * 1024;

/** Stands where an output was cut; how many bytes more there were is not known after a crash. */
export function notKept(why: string, leftBytes: number | null): string {
  return `\n[${leftBytes === null ? "more was" : `${leftBytes} bytes more were`} not kept: ${why}]\n`;
}

/** The beginning and the end of a text that may be long. */
export class Excerpt {
  #head = Buffer.alloc(0);
  /** The end, in pieces, so that a chunk costs no more than its own length. */
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
