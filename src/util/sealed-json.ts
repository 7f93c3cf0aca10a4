/**
 * Owns the form of the small JSON files beside a journal: one line that ends with the SHA-256 of what
 * stands before it. S1 A file with any byte changed, added or removed does not open.
 */
import { createHash } from "node:crypto";

const HASH_FIELD = ',"hash":"';
/** `,"hash":"` + 64 hex digits + `"}`: the end of every sealed line has this length. */
export const SEAL_LENGTH = HASH_FIELD.length + 64 + 2;

export function sha256Hex(...parts: (Uint8Array | string)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

/**
 * `body` is a JSON object without its closing brace. The hash is taken over the salt and the body;
 * in the journal the salt is the hash of the record before.
 */
export function sealLine(body: string, salt = ""): { line: string; hash: string } {
  const hash = sha256Hex(salt, body);
  return { line: `${body}${HASH_FIELD}${hash}"}\n`, hash };
}

export function sealJson(value: object): Uint8Array {
  return Buffer.from(sealLine(JSON.stringify(value).slice(0, -1)).line);
}

/** Splits a line (without its line feed) into what was hashed and the hash. Undefined when it isn't sealed. */
export function splitSealed(line: Buffer): { body: Buffer; hash: string } | undefined {
  const bodyLength = line.length - SEAL_LENGTH;
  if (bodyLength < 2) return undefined;
  const seal = line.toString("latin1", bodyLength);
  if (!seal.startsWith(HASH_FIELD) || !seal.endsWith('"}')) return undefined;
  const hash = seal.slice(HASH_FIELD.length, -2);
  return /^[0-9a-f]{64}$/.test(hash) ? { body: line.subarray(0, bodyLength), hash } : undefined;
}

/** The object in a sealed file; undefined when a byte of it is not as it was written. */
export function openSealedJson(bytes: Buffer): Record<string, unknown> | undefined {
  if (bytes.at(-1) !== 0x0a) return undefined;
  const split = splitSealed(bytes.subarray(0, -1));
  if (!split || sha256Hex(split.body) !== split.hash) return undefined;
  return parseObject(`${split.body.toString("utf8")}}`);
}

/** JSON that is an object; undefined for everything else. */
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
