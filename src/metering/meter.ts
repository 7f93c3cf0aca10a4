/**
 * Owns the reading of a model's answer for what it cost in tokens, from a copy of its bytes as they pass by. It knows
 * the answers of three APIs, streamed and whole, and reads nothing of them but the model's name and its usage.
 *
 * - How the bytes are cut makes no difference, and nothing in them makes it throw: they are somebody else's.
 * - It holds so many bytes at most. A longer event, or a longer answer that is not streamed, is passed over.
 * - An answer that breaks off is metered as far as it came.
 *
 * The bytes have to be plain: whoever forwards a request asks for no compression of its answer.
 */
import { readAnthropic } from "./anthropic.ts";
import { EventStream, MAX_BYTES, parseJson } from "./event-stream.ts";
import { readGemini } from "./gemini.ts";
import { readOpenAi } from "./openai.ts";
import { type Reading, type Usage, usageIn, withReading } from "./reading.ts";

/** The protocols of models that can be metered. */
export type ModelApi = "anthropic" | "openai" | "gemini";

export interface Metered extends Usage {
  /** As the answer says it; null where it does not. */
  readonly model: string | null;
}

const readers: Readonly<Record<ModelApi, (value: unknown) => Reading>> = {
  anthropic: readAnthropic,
  openai: readOpenAi,
  gemini: readGemini,
};

export class Meter {
  readonly #read: (value: unknown) => Reading;
  readonly #stream: EventStream;
  /** Of an answer that is one document. */
  #whole: Buffer[] = [];
  #bytes = 0;
  #isStream: boolean | undefined;
  #reading: Reading = {};

  constructor({ api, contentType }: { readonly api: ModelApi; readonly contentType: string }) {
    this.#read = readers[api];
    this.#stream = new EventStream((value) => this.#add(value));
    if (/event-stream/i.test(contentType)) this.#isStream = true;
    else if (/json/i.test(contentType)) this.#isStream = false;
  }

  push(bytes: Uint8Array): void {
    if (this.#isStream === undefined) this.#begin(bytes);
    else if (this.#isStream) this.#stream.push(bytes);
    else this.#hold(bytes);
  }

  /** Undefined: it said nothing of what it cost. */
  end(): Metered | undefined {
    if (this.#isStream) this.#stream.end();
    else if (this.#whole.length > 0) this.#add(parseJson(Buffer.concat(this.#whole)));
    const usage = usageIn(this.#reading);
    return usage && { model: this.#reading.model ?? null, ...usage };
  }

  /** Some servers say what it is, and some say anything: a document begins with a bracket. */
  #begin(bytes: Uint8Array): void {
    const start = bytes.findIndex((byte) => !WHITE_SPACE.includes(byte));
    if (start < 0) return;
    this.#isStream = !BRACKETS.includes(bytes[start] ?? 0);
    this.push(bytes.subarray(start));
  }

  #hold(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#bytes <= MAX_BYTES) this.#whole.push(Buffer.from(bytes));
    else this.#whole = [];
  }

  #add(value: unknown): void {
    // A stream that is no stream of events is an array of the same documents.
    for (const one of Array.isArray(value) ? value : [value])
      this.#reading = withReading(this.#reading, this.#read(one));
  }
}

const WHITE_SPACE: readonly number[] = [0x09, 0x0a, 0x0d, 0x20];
const BRACKETS: readonly number[] = [0x5b, 0x7b];
