/**
 * Owns the reading of a YAML file by the form that it has to have. Pure: from text to settings. An error names the
 * line and the key.
 */
import * as z from "zod/mini";
import { HoldfastError } from "../contract/index.ts";

/** With nothing below it, a key is as good as not there. */
export const orNothing = z.transform((value: unknown) => value ?? {});

export async function parseDocument<T>(schema: z.ZodMiniType<T>, text: string, name: string): Promise<T> {
  // Most repos have no such file, and then nobody waits for the parser.
  const { parseYaml } = await import("./yaml.ts");
  const yaml = parseYaml(text);
  if ("reason" in yaml) throw invalid(name, yaml.line, yaml.reason);
  const parsed = schema.safeParse(yaml.value ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = (issue?.path ?? []).map(String);
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const at = unknown === undefined ? path : [...path, unknown];
  const reason = unknown === undefined ? issue?.message : "no such key";
  throw invalid(name, yaml.lineOf(at), `${at.join(".") || "the file"}: ${reason}`);
}

function invalid(name: string, line: number, reason: string): HoldfastError {
  return new HoldfastError("config_invalid", `${name}:${line}: ${reason}`, { line });
}
