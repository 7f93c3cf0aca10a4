import type { Command } from "commander";
import { keyNotes } from "../../broker/index.ts";
import { listAgents } from "../agent-choice.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, verb } from "../verb.ts";

export function command(): Command {
  return verb(
    "agents",
    "List the agents that are known: whether each is here, and whose models it can use with the keys that were found. The first that can be used is given a task of plain words, unless settings.yaml or --agent names another.",
    ["holdfast agents"],
  ).action(async (options: CommonOptions) => {
    const { home } = await openDispatcher(options, { create: true });
    const notes = await keyNotes(home, process.env);
    const agents = listAgents(notes);
    if (options.json)
      return sayJson(
        agents.map(({ name, adapter, path = null, providers }) => ({ name, adapter, path, providers })),
      );
    for (const { name, path, providers } of agents) {
      const keys = providers.length > 0 ? `keys for ${providers.join(", ")}` : "no key was found";
      say(`${name.padEnd(10)} ${path === undefined ? "not on PATH" : `${path}, ${keys}`}`);
    }
  });
}
