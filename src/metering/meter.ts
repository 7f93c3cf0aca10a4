/**
 * Owns reading how many tokens a model's answer cost, from a copy of its bytes as they pass. It knows the
 * answers of three APIs, streamed or whole, and reads only the model's name and the usage.
 *
 * - It does not matter how the bytes are cut, and no content makes it throw: the bytes come from outside.
 * - Its memory is limited. A longer event, or a longer answer that is not streamed, is skipped.
 * - An answer that breaks off is metered as far as it came.
 *
 * The bytes have to be plain: code that forwards a request must ask for an uncompressed answer.
 */
import { readAnthropic } from "./anthropic.ts";
import { withEstimate } from "./estimate.ts";
import { DONE, EventStream, MAX_BYTES, parseJson } from "./event-stream.ts";
import { readGemini } from "./gemini.ts";
import { readOpenAi } from "./openai.ts";
import { fieldsIn, type Reading, type Usage, usageIn, withReading } from "./reading.ts";

/** The APIs of models that can be metered. */
export type ModelApi = "anthropic" | "openai" | "gemini";

export interface Metered extends Usage {
  /** The name in the answer; null when it has none. */
  readonly model: string | null;
  /** Some of the counts are estimates. */
  readonly isEstimated?: boolean;
}

const readers: Readonly<Record<ModelApi, (value: unknown) => Reading>> = {
  anthropic: readAnthropic,
  openai: readOpenAi,
  gemini: readGemini,
};

export class Meter {
  readonly #read: (value: unknown) => Reading;
  readonly #stream: EventStream;
  /** The pieces of an answer that is one document. */
  #whole: Buffer[] = [];
  #came = { bytes: 0, parts: 0 };
  #isStream: boolean | undefined;
  #reading: Reading = {};
  #isOver = false;

  constructor({ api, contentType }: { readonly api: ModelApi; readonly contentType: string }) {
    this.#read = readers[api];
    this.#stream = new EventStream((value) => {
      this.#came.parts += 1;
      this.#isOver ||= isLast(value);
      this.#add(value);
    });
    if (/event-stream/i.test(contentType)) this.#isStream = true;
    else if (/json/i.test(contentType)) this.#isStream = false;
  }

  /** Whether the event has come after which a client has the whole answer, though the stream may still be open. */
  get isOver(): boolean {
    return this.#isOver;
  }

  push(bytes: Uint8Array): void {
    if (this.#isStream === undefined) {
      this.#begin(bytes);
      return;
    }
    this.#came.bytes += bytes.length;
    if (this.#isStream) this.#stream.push(bytes);
    else this.#hold(bytes);
  }

  /**
   * Undefined: the answer has no usage. `asked` is the request, if it costs something in any case: then the missing
   * counts are estimated. An answer of numbers, which is an embedding, costs nothing itself.
   */
  end(asked?: Buffer, answer: "text" | "numbers" = "text"): Metered | undefined {
    if (this.#isStream) this.#stream.end();
    else if (this.#whole.length > 0) this.#add(parseJson(Buffer.concat(this.#whole)));
    const { model = null, usage: told } = this.#reading;
    const known = answer === "numbers" ? { outputTokens: 0, ...told } : told;
    const { usage, isEstimated } = asked
      ? withEstimate(known ?? {}, asked, this.#came)
      : { usage: told, isEstimated: false };
    const counted = usageIn({ ...(usage && { usage }) });
    return counted && { model, ...counted, ...(isEstimated && { isEstimated }) };
  }

  /** The content type is not reliable, so the first byte decides: a document begins with a bracket. */
  #begin(bytes: Uint8Array): void {
    const start = bytes.findIndex((byte) => !WHITE_SPACE.includes(byte));
    if (start < 0) return;
    this.#isStream = !BRACKETS.includes(bytes[start] ?? 0);
    this.push(bytes.subarray(start));
  }

  #hold(bytes: Uint8Array): void {
    if (this.#came.bytes <= MAX_BYTES) this.#whole.push(Buffer.from(bytes));
    else this.#whole = [];
  }

  #add(value: unknown): void {
    // A stream that is not server-sent events is an array of the same documents.
    for (const one of Array.isArray(value) ? value : [value])
      this.#reading = withReading(this.#reading, this.#read(one));
  }
}

const WHITE_SPACE: readonly number[] = [0x09, 0x0a, 0x0d, 0x20];
const BRACKETS: readonly number[] = [0x5b, 0x7b];

const LAST_TYPES: readonly unknown[] = [
  "message_stop",
  "response.completed",
  "response.incomplete",
  "response.failed",
];
const isLast = (value: unknown) => value === DONE || LAST_TYPES.includes(fieldsIn(value)["type"]);
