/**
 * Owns the list of agents that are known by name: their programs, how each is driven, and whose models they can use, the
 * usual one first. The order is the one in which they are looked for.
 */
import type { Api } from "../config/index.ts";
import { HoldfastError } from "../contract/index.ts";

export interface KnownAgent {
  /** One of ours, or that of a definition. */
  readonly name: string;
  /** What is looked for on PATH. */
  readonly program: string;
  /** Where npm has it under the version that it calls itself. */
  readonly npmPackage?: string;
  readonly adapter: "claude" | "acp";
  /** Of one that speaks the Agent Client Protocol: how it is started. */
  readonly command: readonly string[];
  /** Whether it can be started without tools that its lane lacks. */
  readonly isStartedWithout: boolean;
  /**
   * The model of each provider that it is started with where none is named; empty: the agent's own choice. It speaks the
   * APIs of these providers, and no others. Of one that is not known, nothing stands here.
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
    // One extension of it has both its editor and its shell.
    isStartedWithout: false,
    models: { openai: FOR_ALL.openai },
  },
];

export const knownAgent = (name: string): KnownAgent | undefined =>
  knownAgents.find((agent) => agent.name === name);

/** Fails where the agent does not speak the API of the provider. */
export function assertSpoken(
  agent: Pick<KnownAgent, "name" | "models"> | undefined,
  { provider, api }: { readonly provider: string; readonly api: Api },
): void {
  const spoken = Object.keys(agent?.models ?? {});
  if (!agent || spoken.length === 0 || spoken.includes(api)) return;
  throw new HoldfastError(
    "model_not_spoken",
    `${agent.name} speaks to models by the API of ${spoken.join(", ")}, and ${provider} has that of ${api}`,
    { agent: agent.name, provider, api },
  );
}
