/**
 * Owns how much of a command's output is kept: its beginning and its end, and their positions in the whole.
 * The middle of very long output is dropped.
 */
const HEAD_BYTES = 1024 * 1024;
const TAIL_BYTES = 1024 * 1024;

export interface Part {
  readonly bytes: Buffer;
  /** Where it begins: later than was asked for, if that part was not kept. */
  readonly from: number;
}

export class KeptOutput {
  #head = Buffer.alloc(0);
  /** Kept in pieces, so that adding a chunk costs no more than its own length. */
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #total = 0;

  get total(): number {
    return this.#total;
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length;
    const room = HEAD_BYTES - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    const rest = chunk.subarray(Math.max(0, room));
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    if (this.#tailBytes > 2 * TAIL_BYTES) this.#cut();
  }

  part(offset: number, length: number): Part {
    if (offset < this.#head.length)
      return { bytes: this.#head.subarray(offset, offset + length), from: offset };
    this.#cut();
    const begins = this.#total - this.#tailBytes;
    const from = Math.min(Math.max(offset, begins), this.#total);
    return { bytes: Buffer.concat(this.#tail).subarray(from - begins, from - begins + length), from };
  }

  /** Everything that was kept. */
  text(): string {
    this.#cut();
    const left = this.#total - this.#head.length - this.#tailBytes;
    const tail = Buffer.concat(this.#tail);
    if (left === 0) return Buffer.concat([this.#head, tail]).toString("utf8");
    return `${this.#head.toString("utf8")}\n[… ${left} bytes were not kept …]\n${tail.toString("utf8")}`;
  }

  #cut(): void {
    if (this.#tailBytes <= TAIL_BYTES) return;
    const kept = Buffer.from(Buffer.concat(this.#tail).subarray(-TAIL_BYTES));
    this.#tail = [kept];
    this.#tailBytes = kept.length;
  }
}
