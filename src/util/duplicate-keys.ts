/**
 * Owns the check for JSON that has a key twice in one object. Readers differ in which of the two they take,
 * so Holdfast refuses such JSON. `JSON.parse` silently takes the last.
 */

/** `value` is the parsed text. */
export function hasDuplicateKeys(text: string, value: unknown): boolean {
  return duplicateKeyIn(text, value) !== undefined;
}

/** The first key that appears twice. */
export function duplicateKeyIn(text: string, value: unknown): string | undefined {
  return isAsWeWrite(text, value) ? undefined : firstRepeatedKey(text);
}

/** Text in the form that `JSON.stringify` writes can't have a key twice. Most texts need no second look. */
function isAsWeWrite(text: string, value: unknown): boolean {
  try {
    return JSON.stringify(value) === text;
  } catch {
    // Nested deeper than the stack, which nothing of ours is.
    return false;
  }
}

/** The text is known to be JSON: a string before a colon is a key of the object that is open. */
function firstRepeatedKey(text: string): string | undefined {
  const open: Set<string>[] = [];
  let lastString = "";
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') {
      const end = endOfString(text, at);
      lastString = text.slice(at, end + 1);
      at = end;
    } else if (character === "{" || character === "[") open.push(new Set());
    else if (character === "}" || character === "]") open.pop();
    else if (character === ":") {
      // Compare the parsed key, not its spelling: "a" is "\u0061".
      const key = JSON.parse(lastString) as string;
      const keys = open.at(-1);
      if (keys?.has(key)) return key;
      keys?.add(key);
    }
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}
