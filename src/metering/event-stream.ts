/**
 * Owns reading a stream of server-sent events: the JSON in the data of each. Line ends of all systems are
 * accepted, and bytes may be cut anywhere. An event that is longer than the limit or is not JSON is skipped;
 * the next one counts again. `[DONE]` is a text of its own.
 */

/** In some APIs the last event repeats the whole answer. */
export const MAX_BYTES = 8 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const DATA = "data:";
/** OpenAI's streams end with it. */
export const DONE = "[DONE]";
const BYTE_ORDER_MARK = /^\uFEFF/;

export class EventStream {
  readonly #onEvent: (value: unknown) => void;
  /** The pieces of the current line. */
  #line: Buffer[] = [];
  /** The data of the current event. */
  #data: string[] = [];
  #lineBytes = 0;
  #eventBytes = 0;
  #isAfterReturn = false;

  constructor(onEvent: (value: unknown) => void) {
    this.#onEvent = onEvent;
  }

  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at];
      const isSecondHalf = byte === LF && this.#isAfterReturn;
      this.#isAfterReturn = byte === CR;
      if (byte !== LF && byte !== CR) continue;
      if (!isSecondHalf) {
        this.#hold(bytes.subarray(start, at));
        this.#endLine();
      }
      start = at + 1;
    }
    this.#hold(bytes.subarray(start));
  }

  /** Counts the current event as far as it came. */
  end(): void {
    this.#endLine();
    this.#endEvent();
  }

  #hold(piece: Buffer): void {
    this.#lineBytes += piece.length;
    this.#eventBytes += piece.length;
    if (this.#eventBytes > MAX_BYTES) [this.#line, this.#data] = [[], []];
    else if (piece.length > 0) this.#line.push(Buffer.from(piece));
  }

  #endLine(): void {
    const isEmpty = this.#lineBytes === 0;
    const line = Buffer.concat(this.#line).toString("utf8").replace(BYTE_ORDER_MARK, "");
    this.#line = [];
    this.#lineBytes = 0;
    if (isEmpty) this.#endEvent();
    else if (line.startsWith(DATA)) this.#data.push(line.slice(DATA.length));
  }

  #endEvent(): void {
    const data = this.#data.join("\n");
    this.#data = [];
    this.#eventBytes = 0;
    if (data.trim() === DONE) this.#onEvent(DONE);
    else if (data !== "") this.#onEvent(parseJson(Buffer.from(data)));
  }
}

/** Undefined for everything that is not JSON. */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}
