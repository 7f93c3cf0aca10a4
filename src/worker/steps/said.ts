/**
 * Owns reading the output of a tool or a server, up to a limit.
 */
const MAX_BYTES = 1024 * 1024;

export class Said {
  readonly #pieces: Buffer[] = [];
  #length = 0;
  #isCut = false;

  add(piece: Buffer): void {
    const kept = piece.subarray(0, MAX_BYTES - this.#length);
    if (kept.length < piece.length) this.#isCut = true;
    this.#pieces.push(kept);
    this.#length += kept.length;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  get text(): string {
    return Buffer.concat(this.#pieces).toString("utf8").trimEnd();
  }
}
