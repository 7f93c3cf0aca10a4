/**
 * Owns the words of a declared tool: `${name}` in a word stands for an argument, whole and as text. No shell
 * reads them.
 */
import { HoldfastError, type Json, type JsonObject } from "../contract/index.ts";

const PLACE = /\$\{([A-Za-z_][A-Za-z0-9_-]*)\}/g;

/** If an argument is not given, a word that consists only of it is left out; elsewhere it is empty. */
export function wordsFor(words: readonly string[], args: JsonObject, input: JsonObject): string[] {
  const known = propertiesOf(input);
  const isGiven = (name: string) => Object.hasOwn(args, name) && args[name] !== null;
  return words.flatMap((word) => {
    const [whole, alone] = /^\$\{([A-Za-z_][A-Za-z0-9_-]*)\}$/.exec(word) ?? [];
    if (whole !== undefined && alone !== undefined && known.has(alone) && !isGiven(alone)) return [];
    return word.replace(PLACE, (place, name: string) => {
      // A name that is not an argument of the tool stays as it is.
      if (!known.has(name)) return place;
      return isGiven(name) ? textOf(name, args[name] as Json) : "";
    });
  });
}

function textOf(name: string, value: Json): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.includes("\0"))
    throw new HoldfastError("arguments_invalid", `${name} contains a zero byte`, { name });
  return text;
}

function propertiesOf({ properties }: JsonObject): ReadonlySet<string> {
  const isObject = typeof properties === "object" && properties !== null && !Array.isArray(properties);
  return new Set(isObject ? Object.keys(properties) : []);
}
