/**
 * Owns the list of agents that Holdfast knows by name: their programs, how each is driven, and whose models
 * each can use, the default first. Holdfast looks for them in the order of the list.
 */
import type { Api } from "../config/index.ts";
import { HoldfastError } from "../contract/index.ts";

export interface KnownAgent {
  /** One of Holdfast's names, or the name of a definition. */
  readonly name: string;
  /** The program that is looked for on PATH. */
  readonly program: string;
  /** The npm package whose version is the version that the agent reports. */
  readonly npmPackage?: string;
  readonly adapter: "claude" | "acp";
  /** For an agent that speaks the Agent Client Protocol: how it is started. */
  readonly command: readonly string[];
  /** Whether it can be started without the tools that its lane lacks. */
  readonly isStartedWithout: boolean;
  /**
   * For each provider, the model that the agent is started with when none is named; empty: the agent's own
   * choice. The agent speaks the APIs of these providers, and no others. Empty for an unknown agent.
   */
  readonly models: Readonly<Record<string, string>>;
}

const FOR_ALL = { anthropic: "claude-sonnet-5-5", openai: "gpt-5.6", gemini: "gemini-3.8-flash" };

export const knownAgents: readonly KnownAgent[] = [
  {
    name: "claude",
    program: "claude",
    npmPackage: "@anthropic-ai/claude-code",
    adapter: "claude",
    command: ["claude"],
    isStartedWithout: true,
    models: { anthropic: "" },
  },
  {
    name: "opencode",
    program: "opencode",
    npmPackage: "opencode-ai",
    adapter: "acp",
    command: ["opencode", "acp"],
    isStartedWithout: true,
    models: FOR_ALL,
  },
  {
    name: "gemini",
    program: "gemini",
    npmPackage: "@google/gemini-cli",
    adapter: "acp",
    command: ["gemini", "--acp"],
    isStartedWithout: true,
    models: { gemini: FOR_ALL.gemini },
  },
  {
    name: "goose",
    program: "goose",
    adapter: "acp",
    command: ["goose", "acp"],
    // Its editor and its shell are in one extension.
    isStartedWithout: false,
    models: { openai: FOR_ALL.openai },
  },
];

export const knownAgent = (name: string): KnownAgent | undefined =>
  knownAgents.find((agent) => agent.name === name);

/** Fails when the agent does not speak the API of the provider. */
export function assertSpoken(
  agent: Pick<KnownAgent, "name" | "models"> | undefined,
  { provider, api }: { readonly provider: string; readonly api: Api },
): void {
  const spoken = Object.keys(agent?.models ?? {});
  if (!agent || spoken.length === 0 || spoken.includes(api)) return;
  throw new HoldfastError(
    "model_not_spoken",
    `${agent.name} can only use models with the API of ${spoken.join(", ")}, but ${provider} has that of ${api}`,
    { agent: agent.name, provider, api },
  );
}
