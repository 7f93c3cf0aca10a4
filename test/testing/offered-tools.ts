/**
 * The tools that real agents offered to a model, as far as intents are bound to them. Their schemas are cut down
 * to the names of properties, what is required and what is said of paths.
 */
import type { OfferedTool } from "./clients/index.ts";

const string = (description = "") => ({ type: "string", description });
const object = (properties: Record<string, object>, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
});

const ABSOLUTE = "The absolute path to the file to write (must be absolute, not relative)";
const EITHER = "Path to the file to write (relative or absolute)";

interface Offer {
  /** How the agent tells the model its directory, in the user's first text or in the system prompt. */
  readonly system: string;
  readonly tools: readonly OfferedTool[];
}

/** Claude Code 2.1.325. */
const claude: Offer = {
  system: "# Environment\n - Primary working directory: /srv/repo\n - Is a git repository: true",
  tools: [
    { name: "Agent", schema: object({ description: string(), prompt: string() }) },
    {
      name: "Bash",
      schema: object({ command: string(), timeout: { type: "number" }, description: string() }, ["command"]),
    },
    {
      name: "Edit",
      schema: object({ file_path: string(ABSOLUTE), old_string: string(), new_string: string() }),
    },
    {
      name: "Read",
      schema: object({ file_path: string(ABSOLUTE), offset: { type: "integer" } }, ["file_path"]),
    },
    { name: "Write", schema: object({ file_path: string(ABSOLUTE), content: string() }) },
    { name: "mcp__issue-tracker__find_issue", schema: object({ text: string() }) },
  ],
};

/** opencode 1.18.33; earlier ones require a description of a command. */
const opencode: Offer = {
  system: "<env>\n  Working directory: /srv/repo\n  Platform: linux\n</env>",
  tools: [
    { name: "bash", schema: object({ command: string(), description: string() }) },
    {
      name: "edit",
      schema: object({ filePath: string(ABSOLUTE), oldString: string(), newString: string() }),
    },
    { name: "read", schema: object({ filePath: string(ABSOLUTE) }) },
    { name: "todowrite", schema: object({ todos: { type: "array" } }) },
    { name: "write", schema: object({ content: string(), filePath: string(ABSOLUTE) }) },
    { name: "issue-tracker_find_issue", schema: object({ text: string() }) },
  ],
};

/** Gemini CLI 0.61.0. */
const geminiCli: Offer = {
  system: "- **Workspace Directories:**\n  - /srv/repo\n- **Directory Structure:**",
  tools: [
    { name: "read_file", schema: object({ file_path: string("The path to the file to read.") }) },
    {
      name: "replace",
      schema: object({
        file_path: string(),
        instruction: string(),
        old_string: string(),
        new_string: string(),
      }),
    },
    { name: "write_file", schema: object({ file_path: string("Path to the file."), content: string() }) },
    { name: "run_shell_command", schema: object({ command: string(), description: string() }, ["command"]) },
    { name: "mcp_issue-tracker_find_issue", schema: object({ text: string() }) },
  ],
};

/** goose 1.34.0; it reads with its shell. */
const goose: Offer = {
  system: "It is currently 2026-11-16 16:54:00\nWorking directory: /srv/repo\nContext: ~0k/128k",
  tools: [
    { name: "edit", schema: object({ path: string(), before: string(), after: string() }) },
    { name: "shell", schema: object({ command: string() }) },
    { name: "todo__todo_write", schema: object({ content: string() }) },
    { name: "write", schema: object({ path: string(), content: string() }) },
    { name: "issue-tracker__find_issue", schema: object({ text: string() }) },
  ],
};

/** Codex 0.166.0; earlier ones take a command as a list. */
const codex: Offer = {
  system: "<environment_context>\n  <cwd>/srv/repo</cwd>\n</environment_context>",
  tools: [{ name: "exec_command", schema: object({ cmd: string(), login: { type: "boolean" } }, ["cmd"]) }],
};

const codexBefore: Offer = {
  system: codex.system,
  tools: [{ name: "shell", schema: object({ command: { type: "array", items: { type: "string" } } }) }],
};

/** Pi 0.87.1. */
const pi: Offer = {
  system: "<cwd>\n/srv/repo\n</cwd>",
  tools: [
    { name: "read", schema: object({ path: string(EITHER) }) },
    { name: "bash", schema: object({ command: string() }) },
    {
      name: "edit",
      schema: object({
        path: string(EITHER),
        edits: { type: "array", items: object({ oldText: string(), newText: string() }) },
      }),
    },
    { name: "write", schema: object({ path: string(EITHER), content: string() }) },
  ],
};

export const offers = { claude, opencode, geminiCli, goose, codex, codexBefore, pi };
