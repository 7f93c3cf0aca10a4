/**
 * Owns the finding of what an agent says by name in its messages: a root cause, decisions, paths that it rejected. A line
 * counts that begins with the name, whatever Markdown stands around it; a heading with the name counts for what follows.
 */
import type { Json } from "../../contract/index.ts";

/** A message that is longer is looked at from its end: there an agent sums up. */
const MAX_LOOKED_AT = 200_000;

/** The text of a message: as it is, or of its parts. */
export function messageText(content: Json | undefined): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(messageText).filter(Boolean).join("\n");
  if (typeof content !== "object" || content === null) return "";
  return typeof content["text"] === "string" ? content["text"] : "";
}

/** What the lines say that begin with one of the names. */
export function saidAs(name: "root cause" | "decision" | "rejected", text: string): string[] {
  const lines = text.slice(-MAX_LOOKED_AT).split("\n").map(bare);
  return lines.flatMap((line, index) => {
    if (!line.text.toLowerCase().startsWith(name)) return [];
    const rest = line.text.slice(name.length).trim();
    const said = /^[:：–—-]\s*(.*)$/.exec(rest)?.[1]?.trim();
    if (said) return [said];
    // A heading, or a name on a line of its own.
    if (said === undefined && (rest !== "" || !line.isMarked)) return [];
    const next = lines.slice(index + 1).find((one) => one.text !== "");
    return next && !next.isHeading ? [next.text] : [];
  });
}

/** Without the marks of lists, headings, quotes and emphasis. */
function bare(line: string): {
  readonly text: string;
  readonly isHeading: boolean;
  readonly isMarked: boolean;
} {
  const short = line.slice(0, 4000).trim();
  const text = short
    .replace(/^(?:[#>\-+*_]|\d{1,4}[.)])+\s*/, "")
    .replace(/^[#>\-+*_\s]+/, "")
    .replaceAll(/\*\*|__/g, "")
    .trim();
  return {
    text,
    isHeading: short.startsWith("#"),
    isMarked: short.startsWith("#") || /^(\*\*|__)/.test(short),
  };
}
