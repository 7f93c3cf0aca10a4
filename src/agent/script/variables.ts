/**
 * Owns the variables of a script: `${name}` and `${name.field}` in its texts. `$${` stands for the text `${`.
 */
import type { Json, JsonObject } from "../../contract/index.ts";

/** The result of a step, with the names that a script uses. */
export interface Result {
  readonly outcome: string;
  readonly text: string;
  readonly facts: JsonObject;
}

export type Values = Map<string, string | Result>;

const REFERENCE = /\$?\$\{([^{}]*)\}/g;
const ONLY_REFERENCE = /^\$\{([^{}]*)\}$/;

/** A text uses a name without a value, or a field that a result does not have. */
export class NoSuchValue extends Error {
  override readonly name = "NoSuchValue";
}

/** The variables that a text uses, without their fields. */
export function namesIn(text: string): string[] {
  return [...text.matchAll(REFERENCE)].flatMap(([whole, inner = ""]) =>
    whole.startsWith("$$") ? [] : [inner.split(".", 1)[0] ?? ""],
  );
}

/**
 * Fills in the variables of all texts. A text that is only a variable becomes its value, which may be a
 * number.
 */
export function filled(value: Json, values: Values): Json {
  if (typeof value === "string") return filledText(value, values);
  if (Array.isArray(value)) return value.map((item) => filled(item, values));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, values)]));
}

export function filledText(text: string, values: Values): Json {
  const [, only] = text.match(ONLY_REFERENCE) ?? [];
  if (only !== undefined) return valueFor(only, values);
  return text.replace(REFERENCE, (whole, inner: string) => {
    if (whole.startsWith("$$")) return whole.slice(1);
    const value = valueFor(inner, values);
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}

function valueFor(reference: string, values: Values): Json {
  const [name = "", ...rest] = reference.split(".");
  const value = values.get(name);
  const field = rest.join(".");
  if (value === undefined) throw new NoSuchValue(`there is no variable ${name}`);
  if (typeof value === "string") {
    if (field !== "") throw new NoSuchValue(`${name} is a text, so it has no field ${field}`);
    return value;
  }
  // As in a shell: the output without line ends at its end.
  if (field === "" || field === "text") return value.text.trimEnd();
  if (field === "outcome") return value.outcome;
  const fact = Object.hasOwn(value.facts, field) ? value.facts[field] : undefined;
  if (fact === undefined) {
    const known = ["text", "outcome", ...Object.keys(value.facts)].join(", ");
    throw new NoSuchValue(`${name} has no field ${field}; it has ${known}`);
  }
  return fact;
}
