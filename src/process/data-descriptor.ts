/**
 * Owns bytes that a program gets through a descriptor. They are in a file without a name, so nothing is left
 * of them.
 */
import { randomUUID } from "node:crypto";
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const kept = new Map<string, number>();

/** A descriptor at the beginning of these bytes, for one program. The caller closes it. */
export function openData(data: Buffer | string): number {
  const bytes = Buffer.from(data);
  const name = bytes.toString("base64");
  let fd = kept.get(name);
  if (fd === undefined) {
    fd = nameless(bytes);
    kept.set(name, fd);
  }
  // Each reader has a position of its own.
  return openSync(`/proc/self/fd/${fd}`, "r");
}

function nameless(bytes: Buffer): number {
  const path = join(tmpdir(), `.holdfast-${randomUUID()}`);
  const fd = openSync(path, "wx+", 0o600);
  try {
    unlinkSync(path);
    writeSync(fd, bytes);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
