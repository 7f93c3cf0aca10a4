/**
 * Owns `holdfast.yaml`: what may stand in it, and what holds where nothing does. Pure: from text to settings.
 * An error names the line and the key.
 */
import * as z from "zod";
import { HoldfastError } from "../contract/index.ts";

export const CONFIG_FILE = "holdfast.yaml";

/** A port in the place of one of these would break the command, or more. */
const RESERVED =
  /^(PATH|HOME|TMPDIR|SHELL|USER|LOGNAME|LANG|TERM|IFS|ENV|BASH_ENV|NODE_OPTIONS|(LD|DYLD|LC|GIT|HOLDFAST)_.*)$/;
const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "is not the name of an environment variable")
  .refine((name) => !RESERVED.test(name), "has a meaning of its own");
const megabytes = z.number().positive();

const capsule = z.strictObject({
  strategy: z.enum(["auto", "overlay", "worktree", "clone"]).default("auto"),
  setup: z.string().default(""),
  include: z.array(z.string().min(1)).default([]),
  ports: z.array(variable).max(100).default([]),
  max_snapshot_mb: megabytes.default(4096),
  max_ignored_mb: megabytes.default(512),
});
const whole = z.int().positive();
/** What one session may take, so that the others have their share. */
const quota = z.strictObject({
  disk_mb: megabytes.default(20_480),
  files: whole.default(2_000_000),
  processes: whole.default(4096),
  reserve_mb: megabytes.default(512),
});
const schema = z.strictObject({
  quota: z.preprocess((value) => value ?? undefined, quota.prefault({})),
  idle_pause_minutes: z.number().nonnegative().default(10),
  // With nothing below it, a key is as good as not there.
  capsule: z.preprocess((value) => value ?? undefined, capsule.prefault({})),
});

export type Config = z.infer<typeof schema>;

export const defaultConfig: Config = schema.parse({});

export async function parseConfig(text: string, name = CONFIG_FILE): Promise<Config> {
  // Most repos have none, and then nobody waits for the parser.
  const { LineCounter, parseDocument } = await import("./yaml.ts");
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const [syntax] = document.errors;
  if (syntax) throw invalid(name, lines.linePos(syntax.pos[0]).line, syntax.message.split("\n", 1)[0] ?? "");
  const parsed = schema.safeParse(document.toJS({ maxAliasCount: 100 }) ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = (issue?.path ?? []).map(String);
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const at = unknown === undefined ? path : [...path, unknown];
  const node = document.getIn(at, true) as { range?: [number, number, number] } | undefined;
  const line = node?.range ? lines.linePos(node.range[0]).line : 1;
  throw invalid(
    name,
    line,
    `${at.join(".") || "the file"}: ${unknown === undefined ? issue?.message : "no such key"}`,
  );
}

function invalid(name: string, line: number, reason: string): HoldfastError {
  return new HoldfastError("config_invalid", `${name}:${line}: ${reason}`, { line });
}
