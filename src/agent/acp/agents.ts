/**
 * Owns what is known of agents that speak the Agent Client Protocol: how each finds its model, and what lies in HOME so
 * that it asks nothing at its start. An agent that is not in this list is started as it was asked for, with the variables
 * by which most agents find a model.
 */
import { type AcpSpec, HoldfastError } from "../../contract/index.ts";
import type { HomeFile, ModelAccess, Workplace } from "../adapter.ts";
import { instructionFiles } from "../instructions.ts";
import { knownAgent } from "../known.ts";

export interface Start {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly HomeFile[];
}

type Starting = (access: ModelAccess, model: ModelName) => Pick<Start, "env" | "files">;

interface ModelName {
  readonly provider: string;
  readonly model: string;
}

/** The packages of the AI SDK that opencode brings along, by the form of a provider's requests. */
const PACKAGES: Readonly<Record<string, string>> = {
  anthropic: "@ai-sdk/anthropic",
  gemini: "@ai-sdk/google",
};

const starting: Readonly<Record<string, Starting>> = {
  opencode: ({ url, key }, { provider, model }) => ({
    env: { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" },
    files: [
      jsonFile(".config/opencode/opencode.json", {
        model: `holdfast/${model}`,
        small_model: `holdfast/${model}`,
        autoupdate: false,
        share: "disabled",
        provider: {
          holdfast: {
            npm: PACKAGES[provider] ?? "@ai-sdk/openai-compatible",
            options: { baseURL: provider === "gemini" ? `${url}/v1beta` : `${url}/v1`, apiKey: key },
            models: { [model]: {} },
          },
        },
      }),
    ],
  }),
  gemini: ({ url, key }, { model }) => ({
    env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key, GEMINI_MODEL: model },
    files: [
      jsonFile(".gemini/settings.json", {
        security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
        general: { disableAutoUpdate: true, disableUpdateNag: true },
        privacy: { usageStatisticsEnabled: false },
      }),
    ],
  }),
  goose: ({ url, key }, { model }) => ({
    env: {
      GOOSE_PROVIDER: "openai",
      GOOSE_MODEL: model,
      GOOSE_MODE: "auto",
      GOOSE_DISABLE_KEYRING: "1",
      OPENAI_HOST: url,
      OPENAI_BASE_PATH: "v1/chat/completions",
      OPENAI_API_KEY: key,
    },
    files: [],
  }),
};

/** Texts of the user's for each of them, from the user's home. */
const INSTRUCTIONS: Readonly<Record<string, readonly string[]>> = {
  opencode: ["AGENTS.md", "agent", "command", "skills"].map((name) => `.config/opencode/${name}`),
  gemini: [".gemini/GEMINI.md"],
  goose: [".config/goose/.goosehints"],
};

export async function startOf(work: Workplace, { agent, command, model }: AcpSpec): Promise<Start> {
  const start = Object.hasOwn(starting, agent) ? starting[agent] : undefined;
  if (!start) return { command, env: await usualVariables(work, model), files: [] };
  const named = nameOf(agent, model);
  const { env, files } = start(await work.model(named.provider), named);
  return { command, env, files: [...files, ...instructionFiles({ paths: INSTRUCTIONS[agent] ?? [] })] };
}

/** Of an agent that is not known: most find their provider by these. Without a named one, it asks no model of ours. */
async function usualVariables(work: Workplace, model: string | undefined): Promise<Start["env"]> {
  if (!model?.includes("/")) return {};
  const { provider } = nameOf("", model);
  const { url, key } = await work.model(provider);
  if (provider === "anthropic") return { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key };
  if (provider === "gemini") return { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key };
  return { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key };
}

/** `anthropic/claude-…`, or a model of the agent's usual provider. */
function nameOf(agent: string, named: string | undefined): ModelName {
  const [[provider, usual] = ["", ""]] = Object.entries(knownAgent(agent)?.models ?? {});
  const model = named ?? usual;
  const [first = "", ...rest] = model.split("/");
  if (rest.length === 0) return { provider, model };
  if (first === "" || rest.join("/") === "")
    throw new HoldfastError("invalid_data", `${model} is no name of a model`);
  return { provider: first, model: rest.join("/") };
}

const jsonFile = (path: string, value: object): HomeFile => ({ path, content: JSON.stringify(value) });
