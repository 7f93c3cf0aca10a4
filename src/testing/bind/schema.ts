/**
 * Owns how the arguments of a tool are filled in: by the names that its schema gives its properties, and with
 * something harmless for what else it requires.
 */
import type { Schema } from "../api/api.ts";

export type Role = "path" | "content" | "command" | "find" | "replace";

/** Agents' names for the same thing, in small letters and without underscores. */
const NAMES: Readonly<Record<Role, readonly string[]>> = {
  path: ["filepath", "path", "absolutepath", "file", "filename", "targetfile"],
  content: ["content", "contents", "filetext", "text"],
  command: ["command", "cmd", "script"],
  find: ["oldstring", "oldtext", "oldstr", "old", "before", "find", "search"],
  replace: ["newstring", "newtext", "newstr", "new", "after", "replace", "replacement"],
};

type Values = Readonly<Partial<Record<Role, string>>>;

/** Undefined if the tool has no property for one of the values. */
export function fill(schema: Schema, values: Values, absolute: (path: string) => string): object | undefined {
  const properties = Object.entries(schema.properties ?? {});
  const args: Record<string, unknown> = {};
  const left: Partial<Record<Role, string>> = {};
  for (const [role, value] of Object.entries(values) as [Role, string][]) {
    const [name, property] = properties.find(([one]) => NAMES[role].includes(plain(one))) ?? [];
    if (name === undefined || property === undefined) left[role] = value;
    else args[name] = valueFor(name, property, role, value, absolute);
  }
  if (Object.keys(left).length > 0) {
    // A tool that takes a list of edits.
    const [name, inner] = properties
      .filter(([, { items }]) => items?.properties)
      .map(([one, { items = {} }]) => [one, fill(items, left, absolute)] as const)
      .find(([, filled]) => filled) ?? [undefined, undefined];
    if (name === undefined) return undefined;
    args[name] = [inner];
  }
  for (const name of schema.required ?? []) args[name] ??= sampleOf(schema.properties?.[name] ?? {});
  return args;
}

function valueFor(
  name: string,
  schema: Schema,
  role: Role,
  value: string,
  absolute: (path: string) => string,
): unknown {
  if (role === "path" && isAbsolute(name, schema)) return absolute(value);
  if (role === "command" && typeOf(schema) === "array") return ["bash", "-c", value];
  return value;
}

/** Whether a path has to be absolute; some tools accept either form. */
function isAbsolute(name: string, { description = "" }: Schema): boolean {
  return (
    /absolute/i.test(`${name} ${description}`) &&
    !/relative or absolute|absolute or relative/i.test(description)
  );
}

/** The smallest value that the schema accepts. */
export function sampleOf(schema: Schema): unknown {
  if (schema.enum?.length) return schema.enum[0];
  switch (typeOf(schema)) {
    case "object": {
      const { properties = {}, required = [] } = schema;
      return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] ?? {})]));
    }
    case "array":
      return [];
    case "integer":
    case "number":
      return 1;
    case "boolean":
      return false;
    case "null":
      return null;
    default:
      return "scripted";
  }
}

function typeOf({ type = "string" }: Schema): string {
  return (typeof type === "string" ? type : (type[0] ?? "string")).toLowerCase();
}

const plain = (name: string) => name.toLowerCase().replaceAll(/[_-]/g, "");
