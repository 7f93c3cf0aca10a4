/**
 * Owns the form of a task's spec. A spec travels through an inbox, waits in a journal, and is driven by the
 * session process, perhaps after a restart. So nothing in it may be a secret.
 */
import * as z from "zod/mini";
import { agentNameSchema, modelSchema, toolsSchema } from "./agent.ts";
import { HoldfastError } from "./errors.ts";
import { hostListSchema } from "./host-pattern.ts";
import { laneNameSchema } from "./lane.ts";
import { MAX_VARIABLES, variableSchema } from "./variables.ts";

const text = z.string().check(z.maxLength(4096));
const MAX_PROMPT = 200_000;
/** The longest script, in characters. */
export const MAX_SCRIPT = 100_000;
const isName = (part: string) => part !== "" && part !== "." && part !== ".." && !part.includes("\0");

/** Any command. */
const execSchema = z.strictObject({
  adapter: z.literal("exec"),
  command: z.array(z.string()).check(z.minLength(1)),
  /** What the command reads: nothing, the session's messages one a line, or a terminal. */
  input: z.enum(["nothing", "messages", "terminal"]),
  /** Started again after a crash of the session process: for commands that can continue where they were. */
  restart: z.boolean(),
});
export type ExecSpec = z.infer<typeof execSchema>;

/** An agent that holds a conversation with a model. */
const conversing = {
  /** What a person asks of it. */
  prompt: z.string().check(z.maxLength(MAX_PROMPT)),
  /** The agent's own name for the model; without it, the agent chooses. */
  model: z.optional(modelSchema),
  /** Goes on with the session's conversation, if that is one of this agent's. */
  continues: z.boolean(),
  /** Which tools it has. */
  tools: z.optional(toolsSchema),
  /** How a person speaks to it while it works: by messages, or in its own interface in a terminal. */
  input: z.enum(["messages", "terminal"]),
};

/** Claude Code, over its control protocol. */
const claudeSchema = z.strictObject({ adapter: z.literal("claude"), ...conversing });
export type ClaudeSpec = z.infer<typeof claudeSchema>;

/** Any agent that speaks the Agent Client Protocol. */
const acpSchema = z.strictObject({
  adapter: z.literal("acp"),
  /** The name of the agent, under which its abilities are known. */
  agent: agentNameSchema,
  command: z.array(z.string()).check(z.minLength(1)),
  ...conversing,
});
export type AcpSpec = z.infer<typeof acpSchema>;

/** The steps of a script. */
const scriptSchema = z.strictObject({
  adapter: z.literal("script"),
  /** The text of the file. */
  script: z.string().check(z.maxLength(MAX_SCRIPT)),
  /** The values that the person gave. Never a secret, because they are recorded. */
  vars: z.record(z.string().check(z.maxLength(64)), z.string().check(z.maxLength(MAX_PROMPT))),
  input: z.literal("messages"),
});
export type ScriptSpec = z.infer<typeof scriptSchema>;

/** The adapter that drives the agent, with its settings. */
const agentSchema = z.discriminatedUnion("adapter", [execSchema, claudeSchema, acpSchema, scriptSchema]);
/** Which adapter drives an agent, and what the agent is asked. */
export type AgentSpec = z.infer<typeof agentSchema>;

const formSchema = z.strictObject({
  agent: agentSchema,
  /** The agent definition, or what stands in for one: its need of memory is remembered under this name. */
  definition: z.string().check(z.minLength(1), z.maxLength(200)),
  /** What it is about, in a person's words. */
  title: z.optional(text),
  /**
   * A name of a commit. Without it, the task begins with what the session's last task left, else with the
   * repo's default.
   */
  base: z.optional(text),
  /** Begin clean with the repo's default, whatever the last task left: `base` of holdfast.yaml, else HEAD. */
  isFresh: z.optional(z.boolean()),
  /** With `base`: begin with the files of this snapshot. */
  snapshot: z.optional(text),
  /** With `snapshot`: as in `task_started`, for a task that is run again. */
  carried: z.optional(
    z.looseObject({ from: z.optional(text), tree: text, hasUnpublished: z.optional(z.boolean()) }),
  ),
  /** Begin with HOME as it was at a checkpoint; empty, if no snapshot is named. */
  home: z.optional(z.strictObject({ snapshot: z.optional(text), manifest: z.optional(text) })),
  /** The directory of the repo that the command starts in, by its path from the top; without it, the top. */
  cwd: z.optional(
    text.check(z.refine((path) => path.split("/").every(isName), "is not a path from the top of the repo")),
  ),
  sandbox: z.boolean(),
  /** Without it, the repo's default. */
  lane: z.optional(laneNameSchema),
  /** Hosts that it may reach in addition to those of its lane. */
  hosts: z.optional(hostListSchema),
  /**
   * The names of variables that it gets in addition to the usual ones. Their values are in a file of their
   * own.
   */
  env: z.optional(z.array(variableSchema).check(z.maxLength(MAX_VARIABLES))),
  /** From an earlier version, whose processes waited: it is read, and has no effect. */
  idlePauseMs: z.optional(z.int().check(z.nonnegative())),
});

/** From an earlier version, which knew only commands: read as what it means now. */
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
