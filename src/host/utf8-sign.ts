/**
 * Owns reading one character of UTF-8 byte by byte: it is passed on whole and well-formed, or not at all.
 */
const CONTINUES = 0x80;
/** The length of a character that begins with this byte; 0: no character does. */
const lengthOf = (byte: number) =>
  byte < 0xc2 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 0;
/** The first character that needs this many bytes, and is no control. */
const FIRST = [0, 0, 0xa0, 0x800, 0x10000] as const;
const LAST = 0x10ffff;

export class Utf8Sign {
  #bytes: number[] = [];
  #length = 0;

  /** Passes on plain bytes at once, and others when their character is whole. */
  take(byte: number, shown: number[]): void {
    if (byte < CONTINUES) {
      this.cut();
      shown.push(byte);
    } else if (byte >= 0xc0) {
      this.#bytes = [byte];
      this.#length = lengthOf(byte);
    } else if (this.#length > 0) this.#goOn(byte, shown);
  }

  /** What is not whole by now will not be. */
  cut(): void {
    this.#bytes = [];
    this.#length = 0;
  }

  #goOn(byte: number, shown: number[]): void {
    this.#bytes.push(byte);
    if (this.#bytes.length < this.#length) return;
    const [first = 0, ...rest] = this.#bytes;
    const value = rest.reduce((sum, one) => (sum << 6) | (one & 0x3f), first & (0x7f >> this.#length));
    // A character in more bytes than it needs could hide another one.
    if (value >= (FIRST[this.#length] ?? 0) && value <= LAST) shown.push(...this.#bytes);
    this.cut();
  }
}
