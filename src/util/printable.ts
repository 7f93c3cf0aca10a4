/**
 * Owns the only way in which untrusted text reaches a screen.
 *
 * printable-1 Nothing that it returns can move the cursor, change colours, ring, reorder or hide text.
 */

/**
 * Controls (C0, C1, DEL), formats (bidi marks, zero-width), lone surrogates, unassigned characters, line and
 * paragraph separators, and characters that fonts show as nothing. The variation mark of emoji stays: it
 * hides nothing.
 */
const unsafe = /(?!\ufe0f)[\u2800\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** One line of text: line breaks and everything unsafe become visible escapes. */
export function printable(text: string): string {
  return text.replace(unsafe, (char) => {
    if (char === "\n") return "\\n";
    if (char === "\t") return "\\t";
    if (char === "\r") return "\\r";
    return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/**
 * JSON on one line that is as harmless on a terminal as `printable` text, and that a parser reads as the same
 * value.
 */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(unsafe, (char) =>
    Array.from(
      { length: char.length },
      (_, index) => `\\u${char.charCodeAt(index).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}
