/**
 * Owns the one question about two paths: whether one lies in the other. It looks at the words alone, so both have to
 * be absolute, and real where links matter.
 */
import { sep } from "node:path";

/** `path` is `dir`, or below it. */
export function isWithin(dir: string, path: string): boolean {
  return path === dir || path.startsWith(dir.endsWith(sep) ? dir : dir + sep);
}
