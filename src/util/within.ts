/**
 * Owns the question whether one path lies in another. It looks at the words alone, so both paths have to be
 * absolute, and real where links matter.
 */
import { sep } from "node:path";

/** `path` is `dir`, or below it. */
export function isWithin(dir: string, path: string): boolean {
  return path === dir || path.startsWith(dir.endsWith(sep) ? dir : dir + sep);
}
