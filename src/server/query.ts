/**
 * Owns what a URL can ask for: the names and types of its values, and their reading. Names that a route does not have are
 * refused.
 */
import { Refusal } from "../http/index.ts";

export interface QueryValue {
  readonly description: string;
  readonly schema: {
    readonly type: "string" | "integer" | "boolean";
    readonly enum?: readonly string[];
    readonly minimum?: number;
  };
  /** It may be there several times. */
  readonly isRepeated?: boolean;
}
export type Query = Readonly<Record<string, QueryValue>>;

export const text = (description: string): QueryValue => ({ description, schema: { type: "string" } });
export const texts = (description: string): QueryValue => ({ ...text(description), isRepeated: true });
export const count = (description: string): QueryValue => ({
  description,
  schema: { type: "integer", minimum: 1 },
});
export const flag = (description: string): QueryValue => ({ description, schema: { type: "boolean" } });
export const oneOf = (description: string, values: readonly string[]): QueryValue => ({
  description,
  schema: { type: "string", enum: values },
});

export function assertQuery(query: Query, { searchParams }: URL): void {
  for (const name of searchParams.keys()) {
    const value = Object.hasOwn(query, name) ? query[name] : undefined;
    const wrong = value ? whyNot(value, searchParams.getAll(name)) : `this path ${has(Object.keys(query))}`;
    if (wrong !== undefined) throw new Refusal(400, "invalid_data", `${name}: ${wrong}`);
  }
}

const has = (names: readonly string[]) =>
  names.length > 0 ? `has no such query; it has ${names.join(", ")}` : "has no query";

function whyNot({ schema, isRepeated }: QueryValue, given: readonly string[]): string | undefined {
  if (!isRepeated && given.length > 1) return "give it once";
  const isPossible = (value: string) => !schema.enum || schema.enum.includes(value);
  return given.every(isPossible) ? undefined : `one of ${schema.enum?.join(", ")} is needed`;
}

interface Asked {
  readonly url: URL;
}

export const textsIn = ({ url }: Asked, name: string) => url.searchParams.getAll(name);
export const textIn = ({ url }: Asked, name: string) => url.searchParams.get(name) ?? undefined;

export function countIn({ url }: Asked, name: string): number | undefined {
  const text = url.searchParams.get(name);
  if (text === null) return undefined;
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new Refusal(400, "invalid_data", `${name}: a whole number above 0 is needed`);
  return Number(text);
}

export function flagIn({ url }: Asked, name: string): boolean {
  const text = url.searchParams.get(name) ?? "false";
  if (text !== "true" && text !== "false")
    throw new Refusal(400, "invalid_data", `${name}: true or false is needed`);
  return text === "true";
}

/** Each as `name=text`. */
export function pairsIn(asked: Asked, name: string): Record<string, string> {
  return Object.fromEntries(
    textsIn(asked, name).map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new Refusal(400, "invalid_data", `${name}: NAME=TEXT is needed`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
