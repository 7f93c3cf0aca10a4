/**
 * Owns the form of what a task is asked to be: it travels through an inbox, waits in a journal, and is driven by
 * the session process, perhaps after a restart. So nothing in it may be a secret.
 */
import * as z from "zod/mini";
import { HoldfastError } from "./errors.ts";
import { MAX_VARIABLES, variableSchema } from "./variables.ts";

const text = z.string().check(z.maxLength(4096));
const isName = (part: string) => part !== "" && part !== "." && part !== ".." && !part.includes("\0");

export const taskSpecSchema = z.strictObject({
  command: z.array(z.string()).check(z.minLength(1)),
  /** The agent definition, or what stands in for one: what its need of memory is remembered by. */
  definition: z.string().check(z.minLength(1), z.maxLength(200)),
  /** What it is about, in a person's words. */
  title: z.optional(text),
  /** A name of a commit; without one, everything that the session's last task left, else the repo's default. */
  base: z.optional(text),
  /** Begin clean, with the repo's default, whatever the last task left: `base` of holdfast.yaml, else HEAD. */
  isFresh: z.optional(z.boolean()),
  /** With `base`: begin with the files of this snapshot. */
  snapshot: z.optional(text),
  /** With `snapshot`: as `task_started` has it, of a task that is run again. */
  carried: z.optional(
    z.looseObject({ from: z.optional(text), tree: text, hasUnpublished: z.optional(z.boolean()) }),
  ),
  /** Begin with HOME as it was at a checkpoint; with nothing in it, where no snapshot is named. */
  home: z.optional(z.strictObject({ snapshot: z.optional(text), manifest: z.optional(text) })),
  /** The directory of the repo that the command starts in, by its path from the top; without one, the top. */
  cwd: z.optional(
    text.check(z.refine((path) => path.split("/").every(isName), "is no path from the top of the repo")),
  ),
  sandbox: z.boolean(),
  /** What the command is fed with: nothing, the session's messages a line each, or a terminal. */
  input: z.enum(["nothing", "messages", "terminal"]),
  /** Started again after a crash of the session process: for loops that know how to go on. */
  restart: z.boolean(),
  /** Variables that it gets beside the usual ones: their names. Their values lie in a file of their own. */
  env: z.optional(z.array(variableSchema).check(z.maxLength(MAX_VARIABLES))),
  /** Of an earlier version, whose processes waited: read, and without effect. */
  idlePauseMs: z.optional(z.int().check(z.nonnegative())),
});

export type TaskSpec = z.infer<typeof taskSpecSchema>;

export function parseTaskSpec(value: unknown): TaskSpec {
  const parsed = taskSpecSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new HoldfastError("invalid_data", `task: ${issue?.path.join(".")}: ${issue?.message}`);
}
