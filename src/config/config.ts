/**
 * Owns `holdfast.yaml`: what may stand in it, and what holds where nothing does.
 */
import * as z from "zod/mini";
import { variableSchema } from "../contract/index.ts";
import { orNothing, parseDocument } from "./document.ts";
import { megabytes, outputLimit, quotaSection } from "./quota.ts";

export const CONFIG_FILE = "holdfast.yaml";

/** A number in the place of one of these would break the command: beside those that no task may be given. */
const NO_PORT = /^(SHELL|USER|LOGNAME|LANG|TERM|NODE_OPTIONS|(LC|GIT)_.*)$/;
const variable = variableSchema.check(z.refine((name) => !NO_PORT.test(name), "has a meaning of its own"));
const capsule = z.strictObject({
  strategy: z._default(z.enum(["auto", "overlay", "worktree", "clone"]), "auto"),
  setup: z._default(z.string(), ""),
  include: z._default(z.array(z.string().check(z.minLength(1))), []),
  ports: z._default(z.array(variable).check(z.maxLength(100)), []),
  max_snapshot_mb: z._default(megabytes, 4096),
  max_ignored_mb: z._default(megabytes, 512),
  max_home_mb: z._default(megabytes, 64),
  home_exclude: z.optional(z.array(z.string().check(z.minLength(1)))),
});
const schema = z.strictObject({
  /** What a session begins with, by a name of git's: HEAD where nothing is said. */
  base: z.optional(z.string().check(z.minLength(1), z.maxLength(255))),
  capsule: z.prefault(z.pipe(orNothing, capsule), {}),
  quota: quotaSection,
  output_mb: outputLimit,
  /** Of an earlier version, whose processes waited: read, and without effect. */
  idle_pause_minutes: z.optional(z.number().check(z.nonnegative())),
});

export type Config = z.infer<typeof schema>;

export const defaultConfig: Config = schema.parse({});

export function parseConfig(text: string, name = CONFIG_FILE): Promise<Config> {
  return parseDocument(schema, text, name);
}
