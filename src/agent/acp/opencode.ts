/**
 * Owns how opencode is started.
 */
import type { ModelAccess, ToolClasses } from "../adapter.ts";
import { jsonFile, type Starting } from "./start.ts";

/** The packages of the AI SDK that it brings along, by the form of a provider's requests. */
const PACKAGES: Readonly<Record<ModelAccess["api"], string>> = {
  anthropic: "@ai-sdk/anthropic",
  openai: "@ai-sdk/openai-compatible",
  gemini: "@ai-sdk/google",
};

export const opencode: Starting = ({ url, api, key }, model, tools) => ({
  env: {
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    // Goes before what the repo's own file for it says.
    OPENCODE_PERMISSION: JSON.stringify(permissions(tools)),
    // The file could let one of its agents run commands all the same.
    ...(tools.isWithoutCommands && { OPENCODE_DISABLE_PROJECT_CONFIG: "1" }),
  },
  files: [
    jsonFile(".config/opencode/opencode.json", {
      model: `holdfast/${model}`,
      small_model: `holdfast/${model}`,
      autoupdate: false,
      share: "disabled",
      permission: permissions(tools),
      provider: {
        holdfast: {
          npm: PACKAGES[api],
          options: { baseURL: api === "gemini" ? `${url}/v1beta` : `${url}/v1`, apiKey: key },
          models: { [model]: {} },
        },
      },
    }),
  ],
});

const permissions = ({ isReadOnly, isWithoutCommands, hasHosts }: ToolClasses) => ({
  "*": "ask",
  // What a task or a skill does is asked for by itself; which files there are is up to the sandbox.
  ...{ task: "allow", skill: "allow", todowrite: "allow", external_directory: "allow" },
  // Nobody is there to answer.
  question: "deny",
  ...(isReadOnly && { edit: "deny" }),
  ...((isReadOnly || isWithoutCommands) && { bash: "deny" }),
  ...(!hasHosts && { webfetch: "deny", websearch: "deny" }),
});
