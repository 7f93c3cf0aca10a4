/**
 * Owns how Claude Code is started: its words, its variables, and what lies in HOME so that it asks nothing at its start.
 */
import { join } from "node:path";
import type { ClaudeSpec } from "../../contract/index.ts";
import type { HomeFile, ModelAccess, ToolClasses, Workplace } from "../adapter.ts";
import { instructionFiles } from "../instructions.ts";
import type { Opening } from "../opening.ts";
import { disallowedTools } from "./tools.ts";

export const CLAUDE = "claude";
export const PROVIDER = "anthropic";

/** Its own updates, telemetry and the like would go to hosts that no lane has. */
const QUIET = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_AUTOUPDATER: "1",
  // It is in a sandbox, and may be told that nothing has to be asked.
  IS_SANDBOX: "1",
};

/** Line by line in both directions, with a question before each tool. */
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

export function commandFor(
  { model }: ClaudeSpec,
  { id, tools }: { readonly id: string; readonly tools: ToolClasses },
  how: Opening["how"],
): string[] {
  return [
    CLAUDE,
    ...PROTOCOL,
    ...(how === "resumed" ? ["--resume", id] : ["--session-id", id]),
    ...(model === undefined ? [] : ["--model", model]),
    "--disallowedTools",
    disallowedTools(tools).join(","),
  ];
}

/** In a terminal, where a person sees what it asks. */
export function interactiveCommand(
  { model }: ClaudeSpec,
  { id, tools }: { readonly id: string; readonly tools: ToolClasses },
  { how, text }: Opening,
): string[] {
  return [
    CLAUDE,
    ...(how === "resumed" ? ["--resume", id] : ["--session-id", id]),
    ...(model === undefined ? [] : ["--model", model]),
    ...["--disallowedTools", disallowedTools(tools).join(",")],
    ...(text === "" ? [] : ["--", text]),
  ];
}

/** A login's requests need a header that Claude sends only when it believes to have one itself. */
export function environmentFor({ url, key, kind }: ModelAccess): Record<string, string> {
  const own = kind === "login" ? { CLAUDE_CODE_OAUTH_TOKEN: key } : { ANTHROPIC_API_KEY: key };
  return { ...QUIET, ANTHROPIC_BASE_URL: url, ...own };
}

/** What it would ask a person for at its first start: a theme, the key, and whether it may work here. */
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
      paths: ["CLAUDE.md", "skills", "commands", "agents", "output-styles"].map((name) =>
        join(".claude", name),
      ),
      settings: { path: join(".claude", "settings.json"), keys: ["model", "outputStyle", "language"] },
    }),
  ];
}
