/**
 * Owns redaction by value: the values that a task was given in its environment are removed from every text,
 * by their exact bytes.
 *
 * value-1 A known value is in no text that is written: a record, a message, the message of a commit. The
 *    parts that give a record its form are left as they are: ids, hashes and our own words are not secret,
 *    and the record needs them.
 */
import type { Json, JsonObject, Values } from "../contract/index.ts";
import type { Redaction, Redactor } from "../journal/index.ts";
import { outermost, type Span } from "./span.ts";

/** A secret value, and the variable that has it. */
export interface Secret {
  readonly name: string;
  readonly value: string;
}

/** A shorter value appears in other texts by accident. */
const MIN_BYTES = 8;

/**
 * White space around a value is not part of the secret. A value that is too short to be recognized is left
 * out.
 */
export function secretsIn(values: Values): Secret[] {
  return Object.entries(values)
    .map(([name, text]) => ({ name, value: text.trim() }))
    .filter(({ value }) => Buffer.byteLength(value) >= MIN_BYTES);
}

export const ruleOf = ({ name }: Secret) => `env:${name}`;
export const variableOf = (rule: string) => rule.slice(rule.indexOf(":") + 1);

/** The same redactor, which also removes the values that are known at the time of the call. */
export function redactingValues(redact: Redactor, known: () => readonly Secret[]): Redactor {
  return async (batch, types) => {
    const secrets = known();
    if (secrets.length === 0) return redact(batch, types);
    const without = batch.map((data, index) => withoutValues(data, types?.[index], secrets));
    const redactions = await redact(
      without.map(({ data }) => data),
      types,
    );
    return redactions.map(({ data, rules }, index) => ({
      data,
      rules: [...(without[index]?.rules ?? []), ...rules].sort(),
    }));
  };
}

/** Fields of our own events that hold no foreign text. */
const OWN_FIELDS: ReadonlySet<string> = new Set(
  "task turn call tool role outcome request name env base snapshot tree manifest home carried head code sha256 strategy ports branch commit replaced into message from to by question approval fingerprint check fact limit limits signal".split(
    " ",
  ),
);
/** Fields that are ours except for these texts. */
const TEXTS_WITHIN: Readonly<Record<string, readonly string[]>> = {
  spec: ["command", "title", "agent"],
  unpublished: ["reason"],
};

/** The words of an agent's spec that are ours. Everything else that its adapter is given is text. */
const AGENT_WORDS: readonly string[] = ["adapter", "input"];

function isOwnField(type: string | undefined, key: string): boolean {
  if (type === undefined || type === "custom") return false;
  return OWN_FIELDS.has(key) || (type.startsWith("session_") && key !== "title");
}

function withoutValues(data: JsonObject, type: string | undefined, secrets: readonly Secret[]): Redaction {
  const fired = new Set<string>();
  const take = (text: string) => takeOut(text, secrets, fired);
  const visit = (value: Json): Json => {
    if (typeof value === "string") return take(value);
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== "object" || value === null) return value;
    const entries = new Map<string, Json>();
    for (const [key, item] of Object.entries(value)) {
      const name = take(key);
      entries.set(entries.has(name) ? `${name}#${entries.size}` : name, visit(item));
    }
    return Object.fromEntries(entries);
  };
  const visitSome = (value: JsonObject, isText: (key: string) => boolean): JsonObject =>
    Object.fromEntries(Object.entries(value).map(([key, item]) => [key, isText(key) ? visit(item) : item]));
  const visitOnly = (value: JsonObject, texts: readonly string[]) => {
    const { agent, ...rest } = value;
    const isAgent = agent !== undefined && isObject(agent) && texts.includes("agent");
    return {
      ...(isAgent && { agent: visitSome(agent, (key) => !AGENT_WORDS.includes(key)) }),
      ...visitSome(isAgent ? rest : value, (key) => texts.includes(key)),
    };
  };
  const redacted: [string, Json][] = Object.entries(data).map(([key, value]) => {
    if (isOwnField(type, key)) return [key, value];
    const texts = type?.startsWith("task_") ? TEXTS_WITHIN[key] : undefined;
    return [take(key), texts && isObject(value) ? visitOnly(value, texts) : visit(value)];
  });
  return fired.size === 0 ? { data, rules: [] } : { data: Object.fromEntries(redacted), rules: [...fired] };
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function spansIn(text: string, secrets: readonly Secret[]): Span[] {
  const spans: Span[] = [];
  for (const secret of secrets) {
    const { value } = secret;
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length))
      spans.push({ start: at, end: at + value.length, rule: ruleOf(secret) });
  }
  return outermost(spans);
}

export function takeOut(text: string, secrets: readonly Secret[], fired = new Set<string>()): string {
  let result = "";
  let done = 0;
  for (const { start, end, rule } of spansIn(text, secrets)) {
    result += `${text.slice(done, Math.max(start, done))}[redacted:${rule}]`;
    done = end;
    fired.add(rule);
  }
  return result + text.slice(done);
}

/**
 * The bytes of one stream as they come, cut where there is no value: a possible beginning of one waits for
 * the next bytes.
 */
export class WholeValues {
  readonly #known: () => readonly Secret[];
  #rest: Buffer = Buffer.alloc(0);

  constructor(known: () => readonly Secret[]) {
    this.#known = known;
  }

  push(piece: Buffer): Buffer {
    const secrets = this.#known();
    if (secrets.length === 0 && this.#rest.length === 0) return piece;
    const bytes = Buffer.concat([this.#rest, piece]);
    const lastEnd = spansIn(latin1(bytes), asBytes(secrets)).at(-1)?.end ?? 0;
    const end = Math.max(lastEnd, bytes.length - begunAtEnd(bytes, secrets));
    this.#rest = bytes.subarray(end);
    return bytes.subarray(0, end);
  }

  /** The bytes that still wait. */
  end(): Buffer {
    return this.#rest;
  }
}

/** Removes the values from bytes as they come, even from two pieces that share one. */
export class ValueFilter {
  readonly #known: () => readonly Secret[];
  readonly #whole: WholeValues;

  constructor(known: () => readonly Secret[]) {
    this.#known = known;
    this.#whole = new WholeValues(known);
  }

  push(piece: Buffer): Buffer {
    const bytes = this.#whole.push(piece);
    const secrets = this.#known();
    return secrets.length === 0 ? bytes : Buffer.from(takeOut(latin1(bytes), asBytes(secrets)), "latin1");
  }

  /** The bytes that still wait. */
  end(): Buffer {
    return this.#whole.end();
  }
}

const latin1 = (bytes: Buffer) => bytes.toString("latin1");
/** One character for each byte, so that the same search finds them. */
const asBytes = (secrets: readonly Secret[]) =>
  secrets.map(({ name, value }) => ({ name, value: latin1(Buffer.from(value)) }));

export async function* withoutValuesIn(
  pieces: AsyncIterable<Buffer>,
  secrets: readonly Secret[],
): AsyncGenerator<Buffer> {
  const filter = new ValueFilter(() => secrets);
  for await (const piece of pieces) yield filter.push(piece);
  yield filter.end();
}

/**
 * If a text ends with this much of a value, that is no accident: it was cut there, or its writer was killed.
 */
const TELLING_BYTES = 8;

/** Removes the beginning of a value at the end of the bytes. */
export function withoutBegun(bytes: Buffer, secrets: readonly Secret[]): Buffer {
  const begun = begunAtEnd(bytes, secrets);
  return begun < TELLING_BYTES ? bytes : bytes.subarray(0, bytes.length - begun);
}

/** The first characters of a text, cut in the same way. */
export function shortened(text: string, length: number, secrets: readonly Secret[]): string {
  // Half a character would hide the value that begins with it.
  const cut = text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
  return secrets.length === 0 ? cut : withoutBegun(Buffer.from(cut), secrets).toString("utf8");
}

/** For a text that was cut: how many of its last bytes are the beginning of a value, but not all of it. */
export function begunAtEnd(bytes: Buffer, secrets: readonly Secret[]): number {
  return longest(secrets, bytes, (value, length) =>
    bytes.subarray(bytes.length - length).equals(value.subarray(0, length)),
  );
}

/** The same for the first bytes: the end of a value whose beginning was cut off. */
export function endedAtStart(bytes: Buffer, secrets: readonly Secret[]): number {
  return longest(secrets, bytes, (value, length) =>
    bytes.subarray(0, length).equals(value.subarray(value.length - length)),
  );
}

function longest(
  secrets: readonly Secret[],
  bytes: Buffer,
  isPart: (value: Buffer, length: number) => boolean,
): number {
  let found = 0;
  for (const { value: text } of secrets) {
    const value = Buffer.from(text);
    for (let length = Math.min(value.length - 1, bytes.length); length > found; length -= 1)
      if (isPart(value, length)) found = length;
  }
  return found;
}
