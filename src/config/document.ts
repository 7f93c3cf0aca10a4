/**
 * Owns reading a YAML file by the form that it has to have. Pure: text in, settings out. An error names the
 * line and the key.
 */
import * as z from "zod/mini";
import { type ErrorCode, HoldfastError } from "../contract/index.ts";

/** A key with nothing below it counts as missing. */
export const orNothing = z.transform((value: unknown) => value ?? {});

export async function parseDocument<T>(
  schema: z.ZodMiniType<T>,
  text: string,
  name: string,
  code: ErrorCode = "config_invalid",
): Promise<T> {
  // Most repos have no such file, and then the parser is not loaded.
  const { parseYaml } = await import("./yaml.ts");
  const yaml = parseYaml(text);
  const invalid = (line: number, reason: string) =>
    new HoldfastError(code, `${name}:${line}: ${reason}`, { line });
  if ("reason" in yaml) throw invalid(yaml.line, yaml.reason);
  const parsed = schema.safeParse(yaml.value ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = (issue?.path ?? []).map(String);
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const at = unknown === undefined ? path : [...path, unknown];
  const reason = unknown === undefined ? issue?.message : "no such key";
  throw invalid(yaml.lineOf(at), `${at.join(".") || "the file"}: ${reason}`);
}
