/**
 * Owns how much of a check's output is kept: its beginning and its end, with a note of what is missing
 * between them. It also tells when a check writes without end.
 */
const HEAD_BYTES = 64 * 1024;
const TAIL_BYTES = 192 * 1024;

export class KeptOutput {
  readonly #maxBytes: number;
  readonly #onTooMuch: () => void;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer = Buffer.alloc(0);
  #bytes = 0;

  /** `onTooMuch` is called once. */
  constructor(maxBytes: number, onTooMuch: () => void) {
    this.#maxBytes = maxBytes;
    this.#onTooMuch = onTooMuch;
  }

  add(chunk: Buffer): void {
    const wasWithin = this.#bytes <= this.#maxBytes;
    this.#bytes += chunk.length;
    const first = chunk.subarray(0, HEAD_BYTES - this.#headBytes);
    if (first.length > 0) this.#head.push(first);
    this.#headBytes += first.length;
    const rest = chunk.subarray(first.length);
    if (rest.length > 0) this.#tail = Buffer.from(Buffer.concat([this.#tail, rest]).subarray(-TAIL_BYTES));
    if (wasWithin && this.#bytes > this.#maxBytes) this.#onTooMuch();
  }

  get text(): string {
    const left = this.#bytes - this.#headBytes - this.#tail.length;
    const between = left > 0 ? `\n[${left} bytes are left out here]\n` : "";
    return Buffer.concat(this.#head).toString("utf8") + between + this.#tail.toString("utf8");
  }
}
