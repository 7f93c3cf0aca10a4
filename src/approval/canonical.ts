/**
 * Owns the canonical form of JSON, in the manner of RFC 8785: each value has exactly one text, so that
 * everyone who hashes it gets the same result, in any language. docs/security.md describes it.
 *
 * canonical-1 Two values have the same form only if every parser takes them for the same. What parsers treat
 *    differently (lone surrogates, integers that a double can't hold, a duplicate key, `__proto__`) has no
 *    form, and is refused.
 * canonical-2 What is parsed exactly is parsed from its canonical form: `-0` is then `0`, and `1.0` is `1`.
 */
import { HoldfastError, type Json } from "../contract/index.ts";
import { duplicateKeyIn } from "../util/index.ts";

/** Deeper than any tool's arguments, and far from the limit of the stack. */
export const MAX_DEPTH = 64;
/** The maximum that a person would have to read before they decide. */
export const MAX_TEXT_BYTES = 1024 * 1024;
/** How much of a key a message shows. */
const KEY_SHOWN = 60;

/** Throws `arguments_invalid`, with the place, for a value without a canonical form. */
export function canonical(value: unknown): string {
  return formOf(value, "$", 0);
}

/** Parses a JSON text, and refuses everything that another parser might understand differently. */
export function parseExact(given: string | Uint8Array): Json {
  const text = textOf(given);
  const value = parsed(text);
  const form = canonical(value);
  const twice = duplicateKeyIn(text, value);
  if (twice !== undefined) throw refused(`an object has the key ${shown(twice)} twice`);
  return JSON.parse(form) as Json;
}

function textOf(given: string | Uint8Array): string {
  const bytes = typeof given === "string" ? Buffer.byteLength(given) : given.byteLength;
  if (bytes > MAX_TEXT_BYTES)
    throw refused(`it has ${bytes} bytes, more than the maximum of ${MAX_TEXT_BYTES}`);
  const text = typeof given === "string" ? given : decoded(given);
  if (!text.isWellFormed()) throw refused("it contains half of a surrogate pair");
  if (text.startsWith("\ufeff")) throw refused("it begins with a byte order mark");
  return text;
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw refused("it is not UTF-8");
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8 quotes the text, which is untrusted, so only the position is taken from its message.
    const place = /at position \d+/.exec(String(error))?.[0];
    throw refused(place === undefined ? "it is not JSON" : `it is not JSON ${place}`);
  }
}

function formOf(value: unknown, place: string, depth: number): string {
  if (depth > MAX_DEPTH) throw refused(`${cut(place)}: it is nested more than ${MAX_DEPTH} deep`);
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") return numberForm(value, place);
  if (typeof value === "string") return textForm(value, place);
  if (Array.isArray(value)) return listForm(value, place, depth);
  if (isPlain(value)) return objectForm(value, place, depth);
  throw refused(`${cut(place)}: a ${typeof value} is not JSON`);
}

function numberForm(value: number, place: string): string {
  if (!Number.isFinite(value)) throw refused(`${cut(place)}: the number is too large`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw refused(`${cut(place)}: an integer beyond 2^53-1 is not exact; give it as a string`);
  return JSON.stringify(value);
}

function textForm(value: string, place: string): string {
  if (!value.isWellFormed()) throw refused(`${cut(place)}: the text contains half of a surrogate pair`);
  return JSON.stringify(value);
}

function listForm(list: readonly unknown[], place: string, depth: number): string {
  // By index, so that a hole in the list is not skipped.
  const forms = Array.from(list, (one, at) => formOf(one, `${place}[${at}]`, depth + 1));
  return `[${forms.join(",")}]`;
}

function objectForm(value: Readonly<Record<string, unknown>>, place: string, depth: number): string {
  // `sort` compares UTF-16 code units, as the canonical form does.
  const forms = Object.keys(value)
    .sort()
    .map((key) => {
      if (key === "__proto__") throw refused(`${cut(place)}: a key may not be __proto__`);
      const form = textForm(key, `${place}, in a key`);
      return `${form}:${formOf(value[key], `${place}.${shown(key)}`, depth + 1)}`;
    });
  return `{${forms.join(",")}}`;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The end of a long place is more useful than its beginning. */
const cut = (place: string) => (place.length > 200 ? `…${place.slice(-200)}` : place);

const shown = (key: string) =>
  /^[A-Za-z0-9_-]{1,60}$/.test(key) ? key : JSON.stringify(key.slice(0, KEY_SHOWN));

const refused = (message: string) => new HoldfastError("arguments_invalid", message);
