/**
 * Owns finding named statements in an agent's messages: a root cause, decisions, and paths that it rejected.
 * A line counts if it begins with the name, whatever Markdown surrounds it. A heading with the name covers
 * the lines that follow.
 */
import type { Json } from "../../contract/index.ts";

/** Only the end of a longer message is searched, because an agent sums up there. */
const MAX_LOOKED_AT = 200_000;

/** The text of a message, whole or in parts. */
export function messageText(content: Json | undefined): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(messageText).filter(Boolean).join("\n");
  if (typeof content !== "object" || content === null) return "";
  return typeof content["text"] === "string" ? content["text"] : "";
}

/** The text of the lines that begin with the name. */
export function saidAs(name: "root cause" | "decision" | "rejected", text: string): string[] {
  const lines = text.slice(-MAX_LOOKED_AT).split("\n").map(bare);
  return lines.flatMap((line, index) => {
    if (!line.text.toLowerCase().startsWith(name)) return [];
    const rest = line.text.slice(name.length).trim();
    const said = /^[:：–—-]\s*(.*)$/.exec(rest)?.[1]?.trim();
    if (said) return [said];
    // The name is a heading, or alone on its line.
    if (said === undefined && (rest !== "" || !line.isMarked)) return [];
    const next = lines.slice(index + 1).find((one) => one.text !== "");
    return next && !next.isHeading ? [next.text] : [];
  });
}

/** The line without the marks of lists, headings, quotes and emphasis. */
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
