/**
 * Owns how opencode is started.
 */
import { jsonFile, type Starting } from "./start.ts";

/** The packages of the AI SDK that it brings along, by the form of a provider's requests. */
const PACKAGES: Readonly<Record<string, string>> = {
  anthropic: "@ai-sdk/anthropic",
  gemini: "@ai-sdk/google",
};

export const opencode: Starting = ({ url, key }, { provider, model }, { isReadOnly, hasHosts }) => ({
  env: { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" },
  files: [
    jsonFile(".config/opencode/opencode.json", {
      model: `holdfast/${model}`,
      small_model: `holdfast/${model}`,
      autoupdate: false,
      share: "disabled",
      permission: {
        "*": "ask",
        // What a task or a skill does is asked for by itself; which files there are is up to the sandbox.
        ...{ task: "allow", skill: "allow", todowrite: "allow", external_directory: "allow" },
        // Nobody is there to answer.
        question: "deny",
        ...(isReadOnly && { edit: "deny", bash: "deny" }),
        ...(!hasHosts && { webfetch: "deny", websearch: "deny" }),
      },
      provider: {
        holdfast: {
          npm: PACKAGES[provider] ?? "@ai-sdk/openai-compatible",
          options: { baseURL: provider === "gemini" ? `${url}/v1beta` : `${url}/v1`, apiKey: key },
          models: { [model]: {} },
        },
      },
    }),
  ],
});
