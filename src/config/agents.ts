/**
 * Owns the section `agents`: the agent definitions of a repo, by name.
 */
import * as z from "zod/mini";
import { agentNameSchema, agentSectionSchema, isKnownAgentName } from "../contract/index.ts";
import { orNothing } from "./document.ts";

const MAX_AGENTS = 100;

const agents = z.record(z.string(), agentSectionSchema).check((context) => {
  const names = Object.keys(context.value);
  const refuse = (path: string[], message: string) =>
    context.issues.push({ code: "custom", path, message, input: context.value });
  if (names.length > MAX_AGENTS) refuse([], `has more than ${MAX_AGENTS} agents`);
  for (const name of names) {
    if (isKnownAgentName(name))
      refuse([name], "is the name of an agent that holdfast knows: choose another name");
    const reason = agentNameSchema.safeParse(name).error?.issues[0]?.message;
    if (reason !== undefined) refuse([name], reason);
  }
});

export const agentsSection = z.prefault(z.pipe(orNothing, agents), {});
