/**
 * Owns the question whether JSON has a key twice in one object. Readers differ in which of the two they take, so what
 * has one is not read at all. `JSON.parse` takes the last and says nothing.
 */

/** `value` is what the text was parsed to. */
export function hasDuplicateKeys(text: string, value: unknown): boolean {
  return !isAsWeWrite(text, value) && someObjectRepeatsKey(text);
}

/** In the form that `JSON.stringify` gives no key can stand twice: most texts need no second look. */
function isAsWeWrite(text: string, value: unknown): boolean {
  try {
    return JSON.stringify(value) === text;
  } catch {
    // Nested deeper than a stack: nothing of ours is.
    return false;
  }
}

/** The text is known to be JSON: a string before a colon is a key of the object that is open. */
function someObjectRepeatsKey(text: string): boolean {
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
      // By what it says, not by how it is written: "a" is "\u0061".
      const key = JSON.parse(lastString) as string;
      const keys = open.at(-1);
      if (keys?.has(key)) return true;
      keys?.add(key);
    }
  }
  return false;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}
