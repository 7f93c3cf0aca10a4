/**
 * Owns the reading of a YAML file by the form that it has to have. Pure: from text to settings. An error names the
 * line and the key.
 */
import * as z from "zod/mini";
import { HoldfastError } from "../contract/index.ts";

/** More uses of anchors than this are no settings, but an attempt to fill the memory. */
const MAX_ALIASES = 100;

/** With nothing below it, a key is as good as not there. */
export const orNothing = z.transform((value: unknown) => value ?? {});

export async function parseDocument<T>(schema: z.ZodMiniType<T>, text: string, name: string): Promise<T> {
  // Most repos have no such file, and then nobody waits for the parser.
  const yaml = await import("./yaml.ts");
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const [syntax] = document.errors;
  if (syntax) throw invalid(name, lines.linePos(syntax.pos[0]).line, syntax.message.split("\n", 1)[0] ?? "");
  const parsed = schema.safeParse(plainValue(document, name) ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = (issue?.path ?? []).map(String);
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const at = unknown === undefined ? path : [...path, unknown];
  const node = document.getIn(at, true) as { range?: [number, number, number] } | undefined;
  const line = node?.range ? lines.linePos(node.range[0]).line : 1;
  const reason = unknown === undefined ? issue?.message : "no such key";
  throw invalid(name, line, `${at.join(".") || "the file"}: ${reason}`);
}

function plainValue(document: { toJS(options: { maxAliasCount: number }): unknown }, name: string): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    throw invalid(name, 1, error instanceof Error ? error.message : String(error));
  }
}

function invalid(name: string, line: number, reason: string): HoldfastError {
  return new HoldfastError("config_invalid", `${name}:${line}: ${reason}`, { line });
}
