/**
 * Owns whether arguments match the schema of a tool. Schemas come from built-in tools, and from the repo's
 * file as a person accepted it. A schema that can't be read checks nothing here, and the tool checks its
 * arguments itself.
 */
import type { ZodType } from "zod";
import type { JsonObject } from "../contract/index.ts";
import type { ToolDescription } from "../lane/index.ts";

const known = new WeakMap<JsonObject, ZodType | null>();

/** Undefined: they are valid. */
export async function whyInvalid(
  { name, input }: ToolDescription,
  args: JsonObject,
): Promise<string | undefined> {
  const schema = await schemaOf(input);
  const issue = schema?.safeParse(args).error?.issues[0];
  if (!issue) return undefined;
  const path = issue.path.map(String).join(".");
  return `arguments_invalid: ${name}: ${path === "" ? "" : `${path}: `}${issue.message}`;
}

async function schemaOf(input: JsonObject): Promise<ZodType | null> {
  const there = known.get(input);
  if (there !== undefined) return there;
  // Loaded with the first call: most commands make none.
  const { fromJSONSchema } = await import("./json-schema.ts");
  let schema: ZodType | null;
  try {
    schema = fromJSONSchema(input);
  } catch {
    schema = null;
  }
  known.set(input, schema);
  return schema;
}
