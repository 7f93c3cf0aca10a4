/**
 * Owns how text of an agent is put into Holdfast's Markdown files: on one line, of limited length, and as
 * plain text only.
 * markdown-1 After Holdfast's own words, it forms no link, picture, HTML, code or mention, and it ends where
 *    it should.
 */
import { printable } from "../../util/index.ts";

/** Characters that Markdown, or GitHub's dialect of it, reads as more than text. */
const ACTIVE = /[\\`*_[\]<>#~&$@]|:(?=\/\/)|(?<=\bwww)\./gi;
const CUT = "…";

/** `room`: the number of characters in the file. */
export function plainText(text: string, room: number): string {
  const line = printable(text.replace(/\s+/g, " ").trim());
  return fitted(line.replace(ACTIVE, "\\$&"), room);
}

/** For a name: nothing in it is active. */
export function codeText(text: string, room: number): string {
  const line = fitted(printable(text).replaceAll("`", "\\u{60}"), Math.max(1, room - 2));
  return `\`${line || " "}\``;
}

/** Leaves no single backslash at the end, and no half of a character. */
function fitted(text: string, room: number): string {
  if (text.length <= room) return text;
  const cut = text.slice(0, Math.max(0, room - CUT.length)).replace(/[\uD800-\uDBFF]$/, "");
  const backslashes = /\\*$/.exec(cut)?.[0].length ?? 0;
  return `${backslashes % 2 === 1 ? cut.slice(0, -1) : cut}${CUT}`;
}

/** As many items as fit, and the number of the rest. */
export function listed(
  items: readonly string[],
  separator: string,
  room: number,
  total = items.length,
): string {
  const shown: string[] = [];
  let used = 0;
  for (const item of items) {
    const isLast = shown.length + 1 === total;
    const left = room - (isLast ? 0 : moreText(total).length + separator.length);
    if (used + item.length > left) break;
    shown.push(item);
    used += item.length + separator.length;
  }
  const more = total - shown.length;
  return [...shown, ...(more > 0 ? [moreText(more)] : [])].join(separator);
}

const moreText = (count: number) => `and ${count} more`;
