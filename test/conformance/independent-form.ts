/**
 * What the second reader knows of sealed lines, of values and of damage, from docs/format.md alone.
 */
import { createHash } from "node:crypto";

export type Json = Record<string, unknown>;
export type Position = { segment: number; bytes: number; seq: number; hash: string };

const FORMAT = 1;
export const LF = 0x0a;
const SEAL = /^,"hash":"[0-9a-f]{64}"\}\n$/;

export class Damage extends Error {
  readonly file: string;
  readonly offset: number;

  constructor(file: string, offset: number, reason: string) {
    super(`${file}, byte ${offset}: ${reason}`);
    this.file = file;
    this.offset = offset;
  }
}

export function check(good: boolean, file: string, offset: number, reason: string): asserts good {
  if (!good) throw new Damage(file, offset, reason);
}

/** The object in a line that has the form of a sealed one. Its hash is not checked. */
export function parseSealed(line: Buffer): Json | undefined {
  const value = SEAL.test(line.subarray(-76).toString("latin1")) ? parseJson(line) : undefined;
  return isObject(value) ? value : undefined;
}

export function fits(line: Buffer, salt: string): boolean {
  const body = line.subarray(0, -76);
  return sha256(Buffer.concat([Buffer.from(salt), body])) === line.subarray(-67, -3).toString("latin1");
}

/** The object in a file or header that is one sealed line with an empty salt. */
export function readSealed(line: Buffer | undefined, file: string): Json {
  check(line !== undefined && line.indexOf(LF) === line.length - 1, file, 0, "it is missing or not one line");
  const value = parseSealed(line);
  check(value !== undefined && fits(line, ""), file, 0, "its hash does not fit");
  check(!repeatsKey(line), file, 0, "an object in it has a key twice");
  const format = value["holdfast"] ?? FORMAT;
  check(isCount(format) && format <= FORMAT, file, 0, `it has format ${format}`);
  return value;
}

export function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function decodeText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(decodeText(bytes) ?? "");
  } catch {
    return undefined;
  }
}

/** Whether any object in this JSON has a key twice. */
export function repeatsKey(bytes: Buffer): boolean {
  const tokens = bytes.toString("utf8").match(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g) ?? [];
  const keys: Set<unknown>[] = [];
  return tokens.some((token, index) => {
    if (token === "{" || token === "[") keys.push(new Set());
    if (token === "}" || token === "]") keys.pop();
    if (token !== ":") return false;
    const key: unknown = JSON.parse(tokens[index - 1] ?? "");
    const isSecond = keys.at(-1)?.has(key) ?? false;
    keys.at(-1)?.add(key);
    return isSecond;
  });
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

export function isPosition(value: unknown): value is Position {
  const { segment, bytes, seq, hash } = isObject(value) ? value : {};
  return isCount(segment) && isCount(bytes) && isCount(seq) && typeof hash === "string";
}
