/**
 * The agents of docs/agents.md: where they are found, which files in HOME keep them from asking anything when
 * they start, and the command that continues a conversation or begins one.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";

export interface Agent {
  readonly name: string;
  /** As in docs/agents.md. */
  readonly command: string;
  /** Put before the command the first time in a fork, whose HOME is at another path. */
  readonly inFork?: string;
  /** Files below HOME that it needs to reach the model at `url`, in a repo at `repo`. */
  files(url: string, repo: string): Record<string, string>;
  env(url: string): Record<string, string>;
  /** Is on its screen when it accepts input. */
  readonly ready: string;
}

const API_KEY = "scripted-key-0000000000000000000000";

export const agents: readonly Agent[] = [
  {
    name: "claude",
    command: "claude --continue || exec claude",
    files: (_url, repo) => ({
      ".claude.json": JSON.stringify({
        hasCompletedOnboarding: true,
        customApiKeyResponses: { approved: [API_KEY.slice(-20)] },
        projects: { [repo]: { hasTrustDialogAccepted: true } },
      }),
    }),
    env: (url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: API_KEY,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
    ready: "❯",
  },
  {
    name: "codex",
    command: "codex resume --last --no-daemon || exec codex --no-daemon",
    inFork: "rm -f ~/.codex/state_*.sqlite*; ",
    files: (url, repo) => ({
      ".codex/config.toml": [
        'model = "scripted"',
        'model_provider = "scripted"',
        "[model_providers.scripted]",
        'name = "scripted"',
        `base_url = "${url}/v1"`,
        'wire_api = "responses"',
        'env_key = "MODEL_KEY"',
        `[projects."${repo}"]`,
        'trust_level = "trusted"',
      ].join("\n"),
    }),
    env: () => ({ MODEL_KEY: API_KEY }),
    ready: "shortcuts",
  },
  {
    name: "opencode",
    command: "exec opencode --continue",
    files: (url) => ({
      ".config/opencode/opencode.json": JSON.stringify({
        model: "scripted/scripted",
        small_model: "scripted/scripted",
        autoupdate: false,
        provider: {
          scripted: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${url}/v1`, apiKey: API_KEY },
            models: { scripted: {} },
          },
        },
      }),
    }),
    env: () => ({}),
    ready: "commands",
  },
  {
    name: "pi",
    command: "exec pi --continue",
    files: (url) => ({
      ".pi/agent/models.json": JSON.stringify({
        providers: {
          scripted: {
            baseUrl: `${url}/v1`,
            api: "openai-completions",
            apiKey: API_KEY,
            models: [{ id: "scripted" }],
          },
        },
      }),
      ".pi/agent/settings.json": JSON.stringify({ defaultProvider: "scripted", defaultModel: "scripted" }),
    }),
    env: () => ({ PI_OFFLINE: "1" }),
    ready: "ctrl+o",
  },
];

/** HOLDFAST_AGENTS is where npm installed them; not below /tmp, because a sandbox has its own /tmp. */
const installed = process.env["HOLDFAST_AGENTS"];
export const agentPath = [installed && join(installed, "node_modules", ".bin"), process.env["PATH"]]
  .filter(Boolean)
  .join(":");

export function pathOf(program: string): string | undefined {
  return agentPath
    .split(":")
    .map((dir) => join(dir, program))
    .find((path) => existsSync(path));
}

/** Whether it was installed for these tests. */
export const isForTests = (path: string) => installed !== undefined && path.startsWith(join(installed, "/"));

export function isInstalled({ name }: Pick<Agent, "name">): boolean {
  return pathOf(name) !== undefined;
}
