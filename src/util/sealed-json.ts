/**
 * Owns the form of the small JSON files beside a journal: one line that ends with the SHA-256 of everything
 * before it.
 *
 * sealed-1 A file with any byte changed, added or removed does not open.
 */
import { hash } from "node:crypto";
import { hasDuplicateKeys } from "./duplicate-keys.ts";

export const LINE_FEED = 0x0a;
const HASH_FIELD = ',"hash":"';
/** `,"hash":"` + 64 hex digits + `"}`: the end of every sealed line has this length. */
export const SEAL_LENGTH = HASH_FIELD.length + 64 + 2;

export function sha256Hex(bytes: Uint8Array | string): string {
  return hash("sha256", bytes, "hex");
}

/**
 * `body` is a JSON object without its closing brace. The hash is taken over the salt and the body. In the
 * journal, the salt is the hash of the record before.
 */
export function sealLine(body: string, salt = ""): { line: string; hash: string } {
  const seal = sha256Hex(salt + body);
  return { line: `${body}${HASH_FIELD}${seal}"}\n`, hash: seal };
}

export function sealJson(value: object): Uint8Array {
  return Buffer.from(sealLine(JSON.stringify(value).slice(0, -1)).line);
}

/** Splits a line (without its line feed) into the hashed part and the hash. Undefined if it is not sealed. */
export function splitSealed(line: Buffer): { body: Buffer; hash: string } | undefined {
  const bodyLength = line.length - SEAL_LENGTH;
  if (bodyLength < 2) return undefined;
  const seal = line.toString("latin1", bodyLength);
  if (!seal.startsWith(HASH_FIELD) || !seal.endsWith('"}')) return undefined;
  const digits = seal.slice(HASH_FIELD.length, -2);
  return /^[0-9a-f]{64}$/.test(digits) ? { body: line.subarray(0, bodyLength), hash: digits } : undefined;
}

/** Whether a split line was sealed with this salt and is unchanged. */
export function isSealedWith({ body, hash: seal }: { body: Buffer; hash: string }, salt = ""): boolean {
  return sha256Hex(salt === "" ? body : Buffer.concat([Buffer.from(salt, "latin1"), body])) === seal;
}

/** The object in a sealed file; undefined if a byte of it has changed. */
export function openSealedJson(bytes: Buffer): Record<string, unknown> | undefined {
  if (bytes.at(-1) !== LINE_FEED) return undefined;
  const split = splitSealed(bytes.subarray(0, -1));
  if (!split || !isSealedWith(split)) return undefined;
  return parseSealedBody(split.body);
}

/**
 * The object whose body was sealed. An object with a key twice is refused: readers differ in what it means.
 */
export function parseSealedBody(body: Buffer): Record<string, unknown> | undefined {
  const text = `${body.toString("utf8")}}`;
  const value = parseObject(text);
  return value && !hasDuplicateKeys(text, value) ? value : undefined;
}

/** The object in the text; undefined if the text is anything else. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isPlainObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
