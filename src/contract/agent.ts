/**
 * Owns what an agent may be called, and the form of an agent definition: which agent works, with which model, in which
 * lane, with which limits and variables. A repo's file has some by name, and a session keeps the one it was opened from.
 */
import * as z from "zod/mini";
import { budgetSchema } from "./budget.ts";
import { laneNameSchema } from "./lane.ts";
import { MAX_VARIABLES, variableSchema } from "./variables.ts";

/** Those that come with the program, in the order in which they are looked for. No repo can say otherwise what they are. */
export const knownAgentNames = ["claude", "opencode", "gemini", "goose"] as const;
export type KnownAgentName = (typeof knownAgentNames)[number];
export const isKnownAgentName = (name: string): name is KnownAgentName =>
  knownAgentNames.some((known) => known === name);

export const agentNameSchema = z
  .string()
  .check(
    z.regex(
      /^[a-z][a-z0-9-]{0,39}$/,
      "is no name for an agent: small letters, digits and hyphens, a letter first, 40 characters at most",
    ),
  );

/** As the agent calls it. */
export const modelSchema = z.string().check(z.minLength(1), z.maxLength(200));

const definition = {
  adapter: z.enum(["claude", "acp"]),
  /** How it is started. Of one that speaks the Agent Client Protocol, where it is not known by name. */
  command: z.optional(z.array(z.string().check(z.minLength(1), z.maxLength(4096))).check(z.minLength(1))),
  model: z.optional(modelSchema),
  lane: z.optional(laneNameSchema),
  budget: z.optional(budgetSchema),
  /** Variables of the person who starts its tasks, by name. */
  env: z._default(z.array(variableSchema).check(z.maxLength(MAX_VARIABLES)), []),
};

/** As a file has it. */
export const agentSectionSchema = z
  .strictObject(definition)
  .check(({ value: { adapter, command }, value, issues }) => {
    const refuse = (path: string[], message: string) =>
      issues.push({ code: "custom", path, message, input: value });
    if (adapter === "acp" && !command) refuse(["command"], "is missing: [opencode, acp], say");
    if (adapter === "claude" && command) refuse(["command"], "goes with adapter: acp");
  });
export type AgentSection = z.infer<typeof agentSectionSchema>;

/** As a session keeps it: with its name, and without what was not accepted. */
export const agentDefinitionSchema = z.object({ name: agentNameSchema, ...definition });
export interface AgentDefinition extends AgentSection {
  readonly name: string;
}
