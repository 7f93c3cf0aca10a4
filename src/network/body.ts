/**
 * Owns where the body of a request ends, so that nothing after it reaches a host (http-1). Of a chunked body
 * it reads the frames strictly: sizes in hex, CRLF, no extensions, no trailers. A body that passes has only
 * one meaning, so its bytes are passed on as they came.
 */
import type { BodyLength } from "./request.ts";

const [CR, LF] = [13, 10];
const MAX_SIZE_DIGITS = 8;

/**
 * `size`: hex digits; `data`: of a chunk; the others are what must follow the size, the data, and the last
 * size.
 */
type Expected = "size" | "size_lf" | "data" | "data_cr" | "data_lf" | "last_cr" | "last_lf" | "nothing";

export class RequestBody {
  #expected: Expected;
  #left = 0;
  #digits = "";
  readonly #isChunked: boolean;

  constructor(length: BodyLength) {
    this.#isChunked = length === "chunked";
    this.#left = typeof length === "number" ? length : 0;
    this.#expected = this.#isChunked ? "size" : this.#left > 0 ? "data" : "nothing";
  }

  get isOver(): boolean {
    return this.#expected === "nothing";
  }

  /** How many of these bytes belong to the request; undefined if its frames are not valid. */
  take(bytes: Uint8Array): number | undefined {
    let at = 0;
    while (at < bytes.length && !this.isOver) {
      if (this.#expected === "data") at += this.#takeData(bytes.length - at);
      else if (this.#takeFrame(bytes[at] ?? 0)) at += 1;
      else return undefined;
    }
    return at;
  }

  #takeData(there: number): number {
    const taken = Math.min(this.#left, there);
    this.#left -= taken;
    if (this.#left === 0) this.#expected = this.#isChunked ? "data_cr" : "nothing";
    return taken;
  }

  /** Whether this byte is allowed here. */
  #takeFrame(byte: number): boolean {
    switch (this.#expected) {
      case "size":
        return this.#takeSize(byte);
      case "size_lf":
        this.#left = Number.parseInt(this.#digits, 16);
        this.#digits = "";
        return this.#next(byte === LF, this.#left === 0 ? "last_cr" : "data");
      case "data_cr":
        return this.#next(byte === CR, "data_lf");
      case "data_lf":
        return this.#next(byte === LF, "size");
      case "last_cr":
        return this.#next(byte === CR, "last_lf");
      case "last_lf":
        return this.#next(byte === LF, "nothing");
      default:
        return false;
    }
  }

  #takeSize(byte: number): boolean {
    if (byte === CR) return this.#next(this.#digits !== "", "size_lf");
    const digit = String.fromCharCode(byte);
    this.#digits += digit;
    return /[0-9a-fA-F]/.test(digit) && this.#digits.length <= MAX_SIZE_DIGITS;
  }

  #next(isRight: boolean, expected: Expected): boolean {
    this.#expected = expected;
    return isRight;
  }
}
