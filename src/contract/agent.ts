/**
 * Owns the names of agents, and the form of an agent definition: which agent works, with which model, in
 * which lane, with which limits and variables. A repo's file has definitions by name, and a session keeps the
 * one that it was opened from.
 */
import * as z from "zod/mini";
import { budgetSchema } from "./budget.ts";
import { laneNameSchema } from "./lane.ts";
import { MAX_VARIABLES, variableSchema } from "./variables.ts";

/** The agents that come with the program, in the order in which they are tried. No repo can redefine them. */
export const knownAgentNames = ["claude", "opencode", "gemini", "goose"] as const;
export type KnownAgentName = (typeof knownAgentNames)[number];
export const isKnownAgentName = (name: string): name is KnownAgentName =>
  knownAgentNames.some((known) => known === name);

export const agentNameSchema = z
  .string()
  .check(
    z.regex(
      /^[a-z][a-z0-9-]{0,39}$/,
      "is not a name for an agent: use small letters, digits and hyphens, a letter first, 40 characters at most",
    ),
  );

/** The agent's own name for the model. */
export const modelSchema = z.string().check(z.minLength(1), z.maxLength(200));

/**
 * Which tools an agent has: its own, only the session's, or both. An agent with its own tools also gets the
 * session's if these can do more: external tools, or MCP servers.
 */
export const toolsSchema = z.enum(["own", "gateway", "both"]);
/** Whose tools an agent has: its own, those of the gate, or both. */
export type ToolsWanted = z.infer<typeof toolsSchema>;
const isName = (part: string) => part !== "" && part !== "." && part !== ".." && !part.includes("\0");
const pathSchema = z.string().check(
  z.maxLength(4096),
  z.refine((path) => path.split("/").every(isName), "is not a path from the top of the repo"),
);

const definition = {
  adapter: z.enum(["claude", "acp", "script"]),
  /** How it is started, for an agent that speaks the Agent Client Protocol and is not known by name. */
  command: z.optional(z.array(z.string().check(z.minLength(1), z.maxLength(4096))).check(z.minLength(1))),
  /** The file of its steps, by its path in the repo. */
  script: z.optional(pathSchema),
  model: z.optional(modelSchema),
  lane: z.optional(laneNameSchema),
  tools: z.optional(toolsSchema),
  budget: z.optional(budgetSchema),
  /** Variables of the person who starts its tasks, by name. */
  env: z._default(z.array(variableSchema).check(z.maxLength(MAX_VARIABLES)), []),
};

/** The form in a file. */
export const agentSectionSchema = z
  .strictObject(definition)
  .check(({ value: { adapter, command, script, model }, value, issues }) => {
    const refuse = (path: string[], message: string) =>
      issues.push({ code: "custom", path, message, input: value });
    if (adapter === "acp" && !command) refuse(["command"], "is missing, for example [opencode, acp]");
    if (adapter !== "acp" && command) refuse(["command"], "is only for adapter: acp");
    if (adapter === "script" && script === undefined)
      refuse(["script"], "is missing, for example steps.yaml");
    if (adapter !== "script" && script !== undefined) refuse(["script"], "is only for adapter: script");
    if (adapter === "script" && model !== undefined)
      refuse(["model"], "is not for adapter: script, which uses no model");
  });
export type AgentSection = z.infer<typeof agentSectionSchema>;

/** The form that a session keeps: with its name, and without what was not accepted. */
export const agentDefinitionSchema = z.object({ name: agentNameSchema, ...definition });
export interface AgentDefinition extends AgentSection {
  readonly name: string;
}
