/**
 * Owns the form of what a task is asked to be: it travels through an inbox, waits in a journal, and is driven by
 * the session process, perhaps after a restart. So nothing in it may be a secret.
 */
import * as z from "zod/mini";
import { agentNameSchema, modelSchema } from "./agent.ts";
import { HoldfastError } from "./errors.ts";
import { hostListSchema } from "./host-pattern.ts";
import { laneNameSchema } from "./lane.ts";
import { MAX_VARIABLES, variableSchema } from "./variables.ts";

const text = z.string().check(z.maxLength(4096));
const MAX_PROMPT = 200_000;
const isName = (part: string) => part !== "" && part !== "." && part !== ".." && !part.includes("\0");

/** Any command. */
const execSchema = z.strictObject({
  adapter: z.literal("exec"),
  command: z.array(z.string()).check(z.minLength(1)),
  /** What the command is fed with: nothing, the session's messages a line each, or a terminal. */
  input: z.enum(["nothing", "messages", "terminal"]),
  /** Started again after a crash of the session process: for loops that know how to go on. */
  restart: z.boolean(),
});
export type ExecSpec = z.infer<typeof execSchema>;

/** An agent that holds a conversation with a model. */
const conversing = {
  /** What a person asks of it. */
  prompt: z.string().check(z.maxLength(MAX_PROMPT)),
  /** As the agent calls it; without one, the agent's own choice. */
  model: z.optional(modelSchema),
  /** Goes on with the session's conversation, where that is one of this agent's. */
  continues: z.boolean(),
  /** How a person speaks to it while it works: by messages, or in its own interface in a terminal. */
  input: z.enum(["messages", "terminal"]),
};

/** Claude Code, over its control protocol. */
const claudeSchema = z.strictObject({ adapter: z.literal("claude"), ...conversing });
export type ClaudeSpec = z.infer<typeof claudeSchema>;

/** Any agent that speaks the Agent Client Protocol. */
const acpSchema = z.strictObject({
  adapter: z.literal("acp"),
  /** Which agent it is: what is known of it goes by this name. */
  agent: agentNameSchema,
  command: z.array(z.string()).check(z.minLength(1)),
  ...conversing,
});
export type AcpSpec = z.infer<typeof acpSchema>;

/** Which adapter drives the agent, and with what. */
const agentSchema = z.discriminatedUnion("adapter", [execSchema, claudeSchema, acpSchema]);
export type AgentSpec = z.infer<typeof agentSchema>;

const formSchema = z.strictObject({
  agent: agentSchema,
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
  /** Without one, the repo's default. */
  lane: z.optional(laneNameSchema),
  /** Hosts that it may reach beside those of its lane. */
  hosts: z.optional(hostListSchema),
  /** Variables that it gets beside the usual ones: their names. Their values lie in a file of their own. */
  env: z.optional(z.array(variableSchema).check(z.maxLength(MAX_VARIABLES))),
  /** Of an earlier version, whose processes waited: read, and without effect. */
  idlePauseMs: z.optional(z.int().check(z.nonnegative())),
});

/** Of an earlier version, which knew commands only: read as what it means now. */
function withAgent(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("command" in value)) return value;
  const { command, input, restart, ...rest } = value as Record<string, unknown>;
  return { ...rest, agent: { adapter: "exec", command, input, restart } };
}

export const taskSpecSchema = z.pipe(z.transform(withAgent), formSchema);

export type TaskSpec = z.infer<typeof formSchema>;

export function parseTaskSpec(value: unknown): TaskSpec {
  const parsed = taskSpecSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new HoldfastError("invalid_data", `task: ${issue?.path.join(".")}: ${issue?.message}`);
}
