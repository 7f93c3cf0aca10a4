/**
 * Owns the list of agents that are known by name: their programs, how each is driven, and whose models they can use, the
 * usual one first. The order is the one in which they are looked for.
 */
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
  /** The model of each provider that it is started with where none is named; empty: the agent's own choice. */
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
    models: { anthropic: "" },
  },
  {
    name: "opencode",
    program: "opencode",
    npmPackage: "opencode-ai",
    adapter: "acp",
    command: ["opencode", "acp"],
    models: FOR_ALL,
  },
  {
    name: "gemini",
    program: "gemini",
    npmPackage: "@google/gemini-cli",
    adapter: "acp",
    command: ["gemini", "--acp"],
    models: { gemini: FOR_ALL.gemini },
  },
  {
    name: "goose",
    program: "goose",
    adapter: "acp",
    command: ["goose", "acp"],
    models: { openai: FOR_ALL.openai },
  },
];

export const knownAgent = (name: string): KnownAgent | undefined =>
  knownAgents.find((agent) => agent.name === name);
