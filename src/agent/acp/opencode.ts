/**
 * Owns how opencode is started.
 */
import type { ModelAccess, ToolClasses } from "../adapter.ts";
import { jsonFile, type Starting } from "./start.ts";

/** The AI SDK packages that opencode includes, by the form of a provider's requests. */
const PACKAGES: Readonly<Record<ModelAccess["api"], string>> = {
  anthropic: "@ai-sdk/anthropic",
  openai: "@ai-sdk/openai-compatible",
  gemini: "@ai-sdk/google",
};

/** Longer than any call is held (ask_seconds). */
const MCP_TIMEOUT_MS = 11 * 60_000;

export const opencode: Starting = ({ url, api, key }, model, tools) => ({
  env: {
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    // Takes precedence over the repo's own file for opencode.
    OPENCODE_PERMISSION: JSON.stringify(permissions(tools)),
    // That file could let one of its agents run commands anyway, so it is not read.
    ...(tools.isWithoutCommands && { OPENCODE_DISABLE_PROJECT_CONFIG: "1" }),
  },
  files: [
    jsonFile(".config/opencode/opencode.json", {
      model: `holdfast/${model}`,
      small_model: `holdfast/${model}`,
      autoupdate: false,
      share: "disabled",
      permission: permissions(tools),
      // A held call of the gate gets its answer late. The gate comes over the protocol and has no entry here.
      experimental: { mcp_timeout: MCP_TIMEOUT_MS },
      provider: {
        holdfast: {
          npm: PACKAGES[api],
          options: {
            ...{ baseURL: api === "gemini" ? `${url}/v1beta` : `${url}/v1`, apiKey: key },
            // A held request gets its answer late.
            ...{ timeout: false, headerTimeout: false },
          },
          models: { [model]: {} },
        },
      },
    }),
  ],
});

const permissions = ({ isReadOnly, isWithoutCommands, hasHosts }: ToolClasses) => ({
  "*": "ask",
  // A task or a skill asks for each of its own actions. The sandbox decides which files exist.
  ...{ task: "allow", skill: "allow", todowrite: "allow", external_directory: "allow" },
  // No person could answer.
  question: "deny",
  ...(isReadOnly && { edit: "deny" }),
  ...((isReadOnly || isWithoutCommands) && { bash: "deny" }),
  ...(!hasHosts && { webfetch: "deny", websearch: "deny" }),
});
