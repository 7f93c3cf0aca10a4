/**
 * Owns `holdfast.yaml`: what may stand in it, and what holds where nothing does. Pure: from text to settings.
 * An error names the line and the key.
 */
import * as z from "zod/mini";
import { HoldfastError } from "../contract/index.ts";

export const CONFIG_FILE = "holdfast.yaml";

/** A port in the place of one of these would break the command, or more. */
const RESERVED =
  /^(PATH|HOME|TMPDIR|SHELL|USER|LOGNAME|LANG|TERM|IFS|ENV|BASH_ENV|NODE_OPTIONS|(LD|DYLD|LC|GIT|HOLDFAST)_.*)$/;
const variable = z.string().check(
  z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "is not the name of an environment variable"),
  z.refine((name) => !RESERVED.test(name), "has a meaning of its own"),
);
const megabytes = z.number().check(z.positive());
const whole = z.int().check(z.positive());

const capsule = z.strictObject({
  strategy: z._default(z.enum(["auto", "overlay", "worktree", "clone"]), "auto"),
  setup: z._default(z.string(), ""),
  include: z._default(z.array(z.string().check(z.minLength(1))), []),
  ports: z._default(z.array(variable).check(z.maxLength(100)), []),
  max_snapshot_mb: z._default(megabytes, 4096),
  max_ignored_mb: z._default(megabytes, 512),
});
/** What one session may take, so that the others have their share. */
const quota = z.strictObject({
  disk_mb: z._default(megabytes, 20_480),
  files: z._default(whole, 2_000_000),
  processes: z._default(whole, 4096),
  reserve_mb: z._default(megabytes, 512),
});
/** With nothing below it, a key is as good as not there. */
const orNothing = z.transform((value: unknown) => value ?? {});
const schema = z.strictObject({
  capsule: z.prefault(z.pipe(orNothing, capsule), {}),
  quota: z.prefault(z.pipe(orNothing, quota), {}),
  idle_pause_minutes: z._default(z.number().check(z.nonnegative()), 10),
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
