import type { Command } from "commander";
import { keyNotes } from "../../broker/index.ts";
import { type AgentDefinition, isHoldfastError } from "../../contract/index.ts";
import { listAgents } from "../../face/index.ts";
import type { Home } from "../../home/index.ts";
import { readRepoFile } from "../../task/index.ts";
import { printable } from "../../util/index.ts";
import { abilitiesOf, abilityLines } from "../agent-abilities.ts";
import { definitionText } from "../definition-text.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, verb } from "../verb.ts";

/** Only the definitions that were accepted. Empty where there is no repo. */
async function definedHere(home: Home): Promise<AgentDefinition[]> {
  try {
    const { agents } = (await readRepoFile(home, { repo: "." })).config;
    return Object.entries(agents).map(([name, section]) => ({ name, ...section }));
  } catch (error) {
    if (isHoldfastError(error, "not_a_repo")) return [];
    throw error;
  }
}

export function command(): Command {
  return verb(
    "agents",
    "List the agents that Holdfast knows: whether each is installed, which providers it can reach with the keys that were found, and what it did when it was tested. holdfast run TEXT takes the first one that is installed and has a key, unless settings.yaml or --agent names another. The agent definitions of this repo's holdfast.yaml follow.",
    ["holdfast agents"],
  ).action(async (options: CommonOptions) => {
    const { home } = await openDispatcher(options, { create: true });
    const defined = await definedHere(home);
    const notes = await keyNotes(home, process.env);
    const agents = await Promise.all(
      listAgents(notes).map(async (agent) => ({ ...agent, ...(await abilitiesOf(agent)) })),
    );
    if (options.json)
      return sayJson([
        ...agents.map(({ name, adapter, path = null, providers, version = null, tried = null }) => ({
          name,
          adapter,
          path,
          providers,
          version,
          tried,
        })),
        ...defined.map(({ name, ...definition }) => ({ name, ...definition, isDefined: true })),
      ]);
    for (const agent of agents) {
      const { name, path, providers } = agent;
      const keys = providers.length > 0 ? `keys for ${providers.join(", ")}` : "no key was found";
      say(`${name.padEnd(10)} ${path === undefined ? "not on PATH" : `${path}, ${keys}`}`);
      if (path !== undefined) for (const line of abilityLines(agent)) say(`           ${printable(line)}`);
    }
    for (const definition of defined)
      say(printable(`${definition.name.padEnd(10)} ${definitionText(definition)}, from holdfast.yaml`));
  });
}
