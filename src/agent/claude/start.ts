/**
 * Owns how Claude Code is started: its arguments, its variables, and files in HOME so that it asks nothing at
 * the start.
 */
import type { ClaudeSpec } from "../../contract/index.ts";
import { claudeDir } from "../../process/index.ts";
import type { GateAccess, HomeFile, ModelAccess, ToolClasses, Workplace } from "../adapter.ts";
import { GATE_SERVER } from "../gate-access.ts";
import { instructionFiles } from "../instructions.ts";
import type { Opening } from "../opening.ts";
import { disallowedTools } from "./tools.ts";

export const CLAUDE = "claude";
export const PROVIDER = "anthropic";

/** Its own updates, telemetry and similar traffic would go to hosts that no lane has. */
const QUIET = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_AUTOUPDATER: "1",
  // Tells it that it is in a sandbox and need not ask.
  IS_SANDBOX: "1",
};

/** Messages are lines in both directions, and it asks before each tool. */
const PROTOCOL = [
  "--print",
  ...["--input-format", "stream-json"],
  ...["--output-format", "stream-json"],
  "--verbose",
  "--include-partial-messages",
  "--replay-user-messages",
  ...["--permission-prompt-tool", "stdio"],
  "--strict-mcp-config",
];

export interface Started {
  readonly id: string;
  readonly tools: ToolClasses;
  readonly gate: GateAccess | undefined;
}

export function commandFor(
  { model }: ClaudeSpec,
  { id, tools, gate }: Started,
  how: Opening["how"],
): string[] {
  return [
    CLAUDE,
    ...PROTOCOL,
    ...(how === "resumed" ? ["--resume", id] : ["--session-id", id]),
    ...(model === undefined ? [] : ["--model", model]),
    ...["--disallowedTools", disallowedTools(tools).join(",")],
    ...gateWords(gate),
  ];
}

/** The key is in the environment, like the key for the models. */
const GATE_KEY = "HOLDFAST_GATE_AUTHORIZATION";

/** The gate judges, asks about and records the session's tools, so Claude need not ask. */
function gateWords(gate: GateAccess | undefined): string[] {
  if (!gate) return [];
  const names = Object.keys(gate.headers).map((name) => [name, `\${${GATE_KEY}}`]);
  const server = { type: "http", url: gate.url, headers: Object.fromEntries(names) };
  return [
    ...["--mcp-config", JSON.stringify({ mcpServers: { [GATE_SERVER]: server } })],
    ...["--allowedTools", `mcp__${GATE_SERVER}`],
    ...(gate.isInstead ? ["--tools", ""] : []),
  ];
}

/** In a terminal, a person sees what it asks. */
export function interactiveCommand(
  { model }: ClaudeSpec,
  { id, tools, gate }: Started,
  { how, text }: Opening,
): string[] {
  return [
    CLAUDE,
    ...(how === "resumed" ? ["--resume", id] : ["--session-id", id]),
    ...(model === undefined ? [] : ["--model", model]),
    ...["--disallowedTools", disallowedTools(tools).join(",")],
    ...gateWords(gate),
    ...(text === "" ? [] : ["--", text]),
  ];
}

/** Requests with a login need a header that Claude sends only when it believes to have a login itself. */
export function environmentFor(
  { url, key, kind }: ModelAccess,
  gate: GateAccess | undefined,
): Record<string, string> {
  const own = kind === "login" ? { CLAUDE_CODE_OAUTH_TOKEN: key } : { ANTHROPIC_API_KEY: key };
  const authorization = gate?.headers["authorization"];
  return {
    ...QUIET,
    ANTHROPIC_BASE_URL: url,
    ...own,
    // All tools are offered at once, because there are few.
    ...(gate && { ENABLE_TOOL_SEARCH: "false" }),
    ...(authorization !== undefined && { [GATE_KEY]: authorization }),
  };
}

/**
 * What it would ask a person at its first start: a theme, the key, and whether it may work in the directory.
 */
export async function filesFor(
  work: Pick<Workplace, "directory">,
  { key }: ModelAccess,
): Promise<HomeFile[]> {
  const directory = await work.directory();
  const answered = {
    hasCompletedOnboarding: true,
    customApiKeyResponses: { approved: [key.slice(-20)] },
    projects: { [directory]: { hasTrustDialogAccepted: true } },
  };
  return [
    { path: ".claude.json", content: JSON.stringify(answered), isKept: true },
    ...instructionFiles({
      from: claudeDir(),
      to: ".claude",
      names: ["CLAUDE.md", "skills", "commands", "agents", "output-styles"],
      settings: { name: "settings.json", keys: ["model", "outputStyle", "language"] },
    }),
  ];
}
