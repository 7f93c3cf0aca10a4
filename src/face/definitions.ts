/**
 * Owns which agent definition of a repo's file a name means, as far as a person accepted the file.
 */
import { type AgentDefinition, isKnownAgentName } from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import { readRepoFile, type WhichFile } from "../task/index.ts";

export type DefinedIn = Omit<WhichFile, "repo"> & { readonly repo: string | null };

/** Undefined: the file has no definition of this name, or Holdfast knows the agent itself. */
export async function findDefinition(
  { home }: Dispatcher,
  name: string | undefined,
  { repo, ...which }: DefinedIn,
): Promise<AgentDefinition | undefined> {
  if (name === undefined || repo === null || isKnownAgentName(name)) return undefined;
  const { agents } = (await readRepoFile(home, { repo, ...which })).config;
  const section = Object.hasOwn(agents, name) ? agents[name] : undefined;
  return section && { name, ...section };
}
