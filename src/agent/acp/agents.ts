/**
 * Owns the list of known agents that speak the Agent Client Protocol. Any other agent is started as it was
 * asked for, with the variables by which most agents find a model.
 */
import { type AcpSpec, HoldfastError } from "../../contract/index.ts";
import { userHome } from "../../process/index.ts";
import type { HomeFile, ToolClasses, Workplace } from "../adapter.ts";
import { instructionFiles } from "../instructions.ts";
import { assertSpoken, knownAgent } from "../known.ts";
import { gemini } from "./gemini.ts";
import { goose } from "./goose.ts";
import { opencode } from "./opencode.ts";
import type { Starting } from "./start.ts";

export interface Start {
  /** When told to end a turn, the agent forgets it. */
  readonly forgetsCancelled: boolean;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly HomeFile[];
}

const starting: Readonly<Record<string, Starting>> = { opencode, gemini, goose };

/** The user's texts for each agent, as paths from the user's home. */
const INSTRUCTIONS: Readonly<Record<string, readonly string[]>> = {
  opencode: ["AGENTS.md", "agent", "agents", "command", "commands", "skills"].map(
    (name) => `.config/opencode/${name}`,
  ),
  gemini: ["GEMINI.md", "commands", "skills"].map((name) => `.gemini/${name}`),
  goose: [".config/goose/.goosehints"],
};

/**
 * An agent definition of the user may grant rights that take precedence, so it is left out for a lane without
 * commands.
 */
const instructionsFor = (agent: string, { isWithoutCommands }: ToolClasses) =>
  (INSTRUCTIONS[agent] ?? []).filter((path) => !(isWithoutCommands && /\/agents?$/.test(path)));

export async function startOf(work: Workplace, { agent, command, model }: AcpSpec): Promise<Start> {
  const start = Object.hasOwn(starting, agent) ? starting[agent] : undefined;
  if (!start) return { command, env: await usualVariables(work, model), files: [], forgetsCancelled: false };
  const named = nameOf(agent, model);
  const access = await work.model(named.provider);
  assertSpoken(knownAgent(agent), { provider: named.provider, api: access.api });
  const { wrapper = [], env, files, forgetsCancelled = false } = start(access, named.model, work.tools);
  const instructions = instructionFiles({
    from: userHome(),
    to: "",
    names: instructionsFor(agent, work.tools),
  });
  return { command: [...wrapper, ...command], env, files: [...files, ...instructions], forgetsCancelled };
}

/**
 * For an unknown agent: most find their provider by these variables. Without a named model, it gets no
 * provider.
 */
async function usualVariables(work: Workplace, model: string | undefined): Promise<Start["env"]> {
  if (!model?.includes("/")) return {};
  const { provider } = nameOf("", model);
  const { url, api, key } = await work.model(provider);
  if (api === "anthropic") return { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key };
  if (api === "gemini") return { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key };
  return { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key };
}

interface ModelName {
  readonly provider: string;
  readonly model: string;
}

/** Accepts `anthropic/claude-…`, or a model of the agent's default provider. */
function nameOf(agent: string, named: string | undefined): ModelName {
  const [[provider, usual] = ["", ""]] = Object.entries(knownAgent(agent)?.models ?? {});
  const model = named ?? usual;
  const [first = "", ...rest] = model.split("/");
  if (rest.length === 0) return { provider, model };
  if (first === "" || rest.join("/") === "")
    throw new HoldfastError("invalid_data", `${model} is not the name of a model`);
  return { provider: first, model: rest.join("/") };
}
