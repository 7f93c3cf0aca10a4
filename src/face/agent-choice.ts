/**
 * Owns which agent gets a task in plain words: the agent that is named, else the one in the user's settings,
 * else the first known agent that is on PATH and has a usable key.
 */
import { basename } from "node:path";
import { assertSpoken, type KnownAgent, knownAgent, knownAgents } from "../agent/index.ts";
import { type KeyNote, keyNotes } from "../broker/index.ts";
import { type AgentDefinition, type AgentSpec, HoldfastError, type ToolsWanted } from "../contract/index.ts";
import { type Home, readSettings } from "../home/index.ts";
import { findProgram } from "../process/index.ts";
import { present } from "../util/index.ts";

export interface AgentOptions {
  readonly agent?: string;
  readonly model?: string;
  readonly continue?: boolean;
  readonly interactive?: boolean;
  /** The session whose tools the agent gets. */
  readonly tools?: ToolsWanted | undefined;
}

export interface ChosenAgent {
  readonly spec: AgentSpec;
  readonly name: string;
  /** Where its key comes from, in words. */
  readonly key: string;
}

export async function chooseAgent(
  home: Home,
  prompt: string,
  options: AgentOptions,
  definition?: AgentDefinition,
): Promise<ChosenAgent> {
  const notes = await keyNotes(home, process.env);
  const agent = definition ? defined(definition) : await wanted(home, options, notes);
  const provider = providerOf(agent, notes, options.model);
  const found = notes.find((note) => note.provider === provider);
  if (!found && isNamed(provider, options.model) && agent.adapter === "acp")
    throw new HoldfastError("unknown_provider", `there is no provider ${provider}`, { provider });
  if (found) assertSpoken(agent, found);
  const spec = specOf(agent, provider, prompt, { ...options, tools: definition?.tools });
  return { spec, name: agent.name, key: found?.detail ?? "no key" };
}

/** Which of the known agents are installed, and what keeps each from being used. */
export function listAgents(
  notes: readonly KeyNote[],
): (KnownAgent & { readonly path: string | undefined; readonly providers: string[] })[] {
  return knownAgents.map((agent) => ({
    ...agent,
    path: findProgram(agent.program),
    providers: usableProviders(agent, notes),
  }));
}

async function wanted(home: Home, options: AgentOptions, notes: readonly KeyNote[]): Promise<KnownAgent> {
  const name = options.agent ?? (await readSettings(home.dir)).agent;
  return name === undefined ? firstUsable(notes) : named(name);
}

/** What is known of an agent by its program also holds when a definition starts that program. */
function defined({ name, adapter, command = [] }: AgentDefinition): KnownAgent {
  const [program = adapter] = command;
  if (adapter !== "acp") return named(adapter);
  const known = knownAgents.find((one) => one.program === basename(program));
  if (!findProgram(program)) throw missing(program);
  return known
    ? { ...known, command }
    : { name, program, adapter, command, isStartedWithout: false, models: {} };
}

const missing = (program: string) =>
  new HoldfastError("program_missing", `${program} is not on PATH`, { program });

function named(name: string): KnownAgent {
  const agent = knownAgent(name);
  if (!agent) {
    const known = knownAgents.map((one) => one.name).join(", ");
    throw new HoldfastError("unknown_agent", `unknown agent ${name}; the known agents are ${known}`, {
      agent: name,
    });
  }
  if (!findProgram(agent.program)) throw missing(agent.program);
  return agent;
}

function firstUsable(notes: readonly KeyNote[]): KnownAgent {
  const here = knownAgents.filter(({ program }) => findProgram(program) !== undefined);
  const usable = here.find((agent) => usableProviders(agent, notes).length > 0);
  if (usable) return usable;
  const names = knownAgents.map(({ name }) => name).join(", ");
  throw new HoldfastError(
    "no_agent",
    here.length === 0
      ? `none of the agents that Holdfast knows is on PATH: ${names}`
      : `found ${here.map(({ name }) => name).join(", ")}, but no key for any provider of their models`,
  );
}

const usableProviders = ({ models }: KnownAgent, notes: readonly KeyNote[]) =>
  Object.keys(models).filter((name) => notes.some(({ provider, isUsable }) => provider === name && isUsable));

const isNamed = (provider: string, model: string | undefined) => model?.startsWith(`${provider}/`) ?? false;

/**
 * The provider of a model such as `anthropic/…`; else the agent's first provider with a key; without any key,
 * its first.
 */
function providerOf(agent: KnownAgent, notes: readonly KeyNote[], model: string | undefined): string {
  const [first, rest] = model?.split("/", 2) ?? [];
  if (first !== undefined && rest !== undefined) return first;
  return usableProviders(agent, notes)[0] ?? Object.keys(agent.models)[0] ?? "";
}

function specOf(agent: KnownAgent, provider: string, prompt: string, options: AgentOptions): AgentSpec {
  const input = options.interactive ? ("terminal" as const) : ("messages" as const);
  const { tools } = options;
  const talk = { prompt, continues: options.continue ?? false, input, ...present({ tools }) };
  const { model } = options;
  // Claude Code knows one provider, and calls its models by their own names.
  if (agent.adapter === "claude")
    return { adapter: "claude", ...talk, ...present({ model: model?.replace(/^anthropic\//, "") }) };
  if (options.interactive)
    throw new HoldfastError(
      "usage",
      `Holdfast can't open the interface of ${agent.name} with -i: run it as a command, holdfast run -i -- ${agent.program}`,
    );
  const full =
    model?.includes("/") || provider === "" ? model : `${provider}/${model ?? agent.models[provider] ?? ""}`;
  return {
    adapter: "acp",
    agent: agent.name,
    command: [...agent.command],
    ...present({ model: full }),
    ...talk,
  };
}
