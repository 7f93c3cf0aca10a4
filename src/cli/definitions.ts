/**
 * Owns which agent definition `--agent` names. It can be one of the repo's file, as far as a person accepted
 * it.
 */
import {
  type AgentDefinition,
  type AgentSection,
  HoldfastError,
  isKnownAgentName,
  knownAgentNames,
} from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import { readRepoFile, type WhichFile } from "../task/index.ts";
import { askTrust } from "./trust-question.ts";

type Sections = Readonly<Record<string, AgentSection>>;

/** Undefined: the file has no definition of this name. */
export async function findDefinition(
  dispatcher: Dispatcher,
  name: string,
  which: WhichFile,
): Promise<AgentDefinition | undefined> {
  return definitionIn(await sectionsOf(dispatcher, which), name);
}

/** Undefined: no agent is named, or Holdfast knows it itself. Without a file, there is no other. */
export async function requireDefinition(
  dispatcher: Dispatcher,
  name: string | undefined,
  which: WhichFile | undefined,
): Promise<AgentDefinition | undefined> {
  if (name === undefined || isKnownAgentName(name)) return undefined;
  const sections = which ? await sectionsOf(dispatcher, which) : {};
  const definition = definitionIn(sections, name);
  if (definition) return definition;
  const known = [...knownAgentNames, ...Object.keys(sections).sort()];
  throw new HoldfastError(
    "unknown_agent",
    `unknown agent ${name}; the known agents are ${known.join(", ")}`,
    {
      agent: name,
    },
  );
}

async function sectionsOf(dispatcher: Dispatcher, which: WhichFile): Promise<Sections> {
  await askTrust(dispatcher, which);
  return (await readRepoFile(dispatcher.home, which)).config.agents;
}

function definitionIn(sections: Sections, name: string): AgentDefinition | undefined {
  const section = Object.hasOwn(sections, name) ? sections[name] : undefined;
  return section && { name, ...section };
}
