/**
 * Owns reading a key from a file that the user names. The file must be readable by its user only, and be
 * outside of the home, so that copying a home never copies a key.
 */
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from "node:fs";
import { HoldfastError } from "../contract/index.ts";
import { errorCode, isOwnUid, isWithin, present } from "../util/index.ts";
import { expandPath } from "./environment.ts";

const MAX_BYTES = 64 * 1024;
const { O_RDONLY, O_NONBLOCK } = constants;
/** Text that can be one word in a header. */
const KEY = /^[\x21-\x7e]{1,8192}$/;

/** Fails with `unsafe_permissions`, or with `key_missing` when there is no key. For the broker alone. */
export function readKeyFile(path: string, place: KeyPlace): string {
  return lookInto(path, place, (fd, size) => {
    const bytes = Buffer.alloc(Math.min(size, MAX_BYTES));
    return keyIn(bytes.toString("utf8", 0, readSync(fd, bytes, 0, bytes.length, 0)));
  });
}

/** Makes the same checks from outside, without reading the file's content. */
export function assertKeyFile(path: string, place: KeyPlace): void {
  lookInto(path, place, (_, size) => (size > 0 ? true : undefined));
}

function lookInto<T>(
  path: string,
  { setting, homeDir, provider }: KeyPlace,
  look: (fd: number, size: number) => T | undefined,
): T {
  const whole = expandPath(path);
  const missing = (why: string) =>
    new HoldfastError("key_missing", `${setting}.file: ${whole} ${why}`, present({ provider }));
  let fd: number;
  try {
    fd = openSync(whole, O_RDONLY | O_NONBLOCK);
  } catch (error) {
    throw missing(`can't be read: ${errorCode(error) ?? "it is not a path"}`);
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw missing("is not a file");
    if (!isOwnUid(stats.uid)) throw unsafe(whole, "belongs to another user");
    if ((stats.mode & 0o077) !== 0)
      throw unsafe(whole, `has mode ${(stats.mode & 0o777).toString(8)}: other users can access it`);
    if (isWithin(homeDir, realpathSync(whole))) throw unsafe(whole, "is inside Holdfast's home: move it out");
    return look(fd, stats.size) ?? fail(missing("has no key on its first line"));
  } finally {
    closeSync(fd);
  }
}

export interface KeyPlace {
  /** Its name in the user's settings. */
  readonly setting: string;
  readonly homeDir: string;
  /** The provider whose key it is, if it is one. */
  readonly provider?: string;
}

/** The first line, if it can be a key. */
export function keyIn(text: string): string | undefined {
  const line = text.split("\n", 1)[0]?.trim() ?? "";
  return KEY.test(line) ? line : undefined;
}

function fail(error: Error): never {
  throw error;
}

function unsafe(path: string, why: string): HoldfastError {
  return new HoldfastError("unsafe_permissions", `${path} ${why}`, { path });
}
