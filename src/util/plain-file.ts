/**
 * Owns the reading of small files that another program may have put there. It reads only a plain file of
 * limited length: a link would lead elsewhere, and a pipe or a device could block us forever.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** Undefined when there is no such file, or it is not one that may be read. */
export function readPlainFile(
  path: string,
  { maxBytes, followLinks = false }: { readonly maxBytes: number; readonly followLinks?: boolean },
): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_NONBLOCK | (followLinks ? 0 : O_NOFOLLOW));
  } catch {
    return undefined;
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size > maxBytes) return undefined;
    const bytes = Buffer.alloc(stats.size);
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0));
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}
