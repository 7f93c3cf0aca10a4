/**
 * Owns line endings as git stores them: CRLF becomes LF. Files are read in pieces and never held whole.
 */
import { HoldfastError } from "../../contract/index.ts";

const CR = 0x0d;
const LF = 0x0a;

export interface LineEnds {
  readonly crlfs: number;
  /** As git judges it: a NUL, a lone CR, or too much that can't be printed. */
  readonly isBinary: boolean;
}

export function countLineEnds(chunks: Iterable<Buffer>): LineEnds {
  let crlfs = 0;
  let printable = 0;
  let others = 0;
  let isBinary = false;
  let isAfterCr = false;
  for (const chunk of chunks) {
    for (const byte of chunk) {
      if (isAfterCr && byte === LF) crlfs += 1;
      else if (isAfterCr) isBinary = true;
      isAfterCr = byte === CR;
      if (byte === CR || byte === LF) continue;
      if (byte === 0) isBinary = true;
      const isControl = byte === 0x7f || (byte < 0x20 && ![0x08, 0x09, 0x0c, 0x1b].includes(byte));
      if (isControl) others += 1;
      else printable += 1;
    }
  }
  return { crlfs, isBinary: isBinary || isAfterCr || printable >> 7 < others };
}

/**
 * The same without the CR of each CRLF. It yields exactly this many bytes, or fails because a process writes
 * to the file.
 */
export function* withLf(chunks: Iterable<Buffer>, size: number): Generator<Buffer> {
  let left = size;
  let isAfterCr = false;
  for (const chunk of chunks) {
    const kept = Buffer.allocUnsafe(chunk.length + 1);
    let length = 0;
    for (const byte of chunk) {
      if (isAfterCr && byte !== LF) kept[length++] = CR;
      isAfterCr = byte === CR;
      if (!isAfterCr) kept[length++] = byte;
    }
    left -= length;
    if (left < 0) throw changed();
    yield kept.subarray(0, length);
  }
  if (left !== (isAfterCr ? 1 : 0)) throw changed();
  if (isAfterCr) yield Buffer.from([CR]);
}

function changed(): HoldfastError {
  return new HoldfastError("snapshot_raced", "a file was changed while it was read");
}
