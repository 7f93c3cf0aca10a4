/**
 * Owns the words for long work that is under way: the step, and its files and bytes.
 */
import { type Progress, printable } from "../util/index.ts";
import { bytes, plural } from "./amounts.ts";

/** "checking out the base: 4500 of 30000 files, 120.4 MB". */
export function progressText({ what, files, ofFiles, bytes: count, ofBytes }: Progress): string {
  const counted = [
    files === undefined ? undefined : amount(files, ofFiles, String, (total) => plural(total, "file")),
    count === undefined ? undefined : amount(count, ofBytes, bytes, bytes),
  ].filter((text) => text !== undefined);
  return printable(what) + (counted.length > 0 ? `: ${counted.join(", ")}` : "");
}

/** A total that turned out to be too small is not shown. */
function amount(
  done: number,
  total: number | undefined,
  part: (count: number) => string,
  whole: (count: number) => string,
): string {
  return total === undefined || done > total ? whole(done) : `${part(done)} of ${whole(total)}`;
}
