/**
 * Owns what `run` is asked for: an agent with a task in plain words, or a command, as the spec of a task.
 */
import { basename } from "node:path";
import { type AgentDefinition, HoldfastError, type TaskSpec } from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import { findProgram } from "../process/index.ts";
import { commandLine } from "../redaction/index.ts";
import { present } from "../util/index.ts";
import type { AgentOptions } from "./agent-choice.ts";
import { requireDefinition } from "./definitions.ts";
import type { EnvironmentOptions } from "./environment.ts";
import { type LaneOptions, laneChoice } from "./lane-options.ts";
import type { PlaceOptions } from "./run-place.ts";
import { note } from "./screen.ts";
import { type BudgetOptions, type CommonOptions, scope } from "./verb.ts";
import { sessionOf } from "./which-session.ts";

export type RunOptions = CommonOptions &
  BudgetOptions &
  PlaceOptions &
  EnvironmentOptions &
  LaneOptions &
  AgentOptions & {
    readonly session?: string;
    readonly fresh?: boolean;
    readonly name?: string;
    readonly title?: string;
    readonly sandbox: boolean;
    readonly detach?: boolean;
    readonly messages?: boolean;
    readonly restart?: boolean;
    readonly priority?: number;
    readonly maxMemory?: number;
    readonly maxSessions?: number;
    readonly exitCode?: boolean;
  };

/** A word that is a program was meant as a command. */
export function assertWords(words: readonly string[], hasCommand: boolean, options: RunOptions): void {
  const [first = ""] = words;
  if (hasCommand && first === "") throw new HoldfastError("usage", "behind -- stands the command to run");
  if (hasCommand && (options.agent !== undefined || options.model !== undefined || options.continue))
    throw new HoldfastError(
      "usage",
      "--agent, --model and --continue go with a task of plain words, not with a command",
    );
  if (hasCommand) return;
  if (options.messages || options.restart)
    throw new HoldfastError(
      "usage",
      "--messages and --restart go with a command: an agent does both by itself",
    );
  if (options.continue && options.session === undefined)
    throw new HoldfastError(
      "usage",
      "--continue goes on with a conversation: name its session with --session",
    );
  if (words.join("").trim() === "" && !options.interactive)
    throw new HoldfastError("usage", "say what is to be done, or which command to run: holdfast run -- CMD");
  if (!first.includes(" ") && findProgram(first) !== undefined)
    throw new HoldfastError(
      "usage",
      `${first} is a program: to run it, say holdfast run -- ${words.join(" ")}; to say it to an agent, put it in quotes with the rest`,
    );
}

/** What a task is asked to be, and the words that a session for it gets its name from. */
export interface AskedFor {
  readonly spec: TaskSpec;
  readonly title: string;
  readonly words: readonly string[];
  /** The agent definition that it goes by. */
  readonly definition?: AgentDefinition;
}

export function commandAsked(words: string[], options: RunOptions): AskedFor {
  return { spec: specOf(words, options), title: commandLine(words).slice(0, 200), words };
}

export async function agentAsked(
  dispatcher: Dispatcher,
  prompt: string,
  options: RunOptions,
): Promise<AskedFor> {
  const { chooseAgent } = await import("./agent-choice.ts");
  const definition = await definitionFor(dispatcher, options);
  const model = options.model ?? definition?.model;
  const chosen = await chooseAgent(
    dispatcher.home,
    prompt,
    { ...options, ...present({ model }) },
    definition,
  );
  const name = definition?.name ?? chosen.name;
  const shown = name === chosen.name ? name : `${name} (${chosen.name})`;
  if (!options.json) note(`[agent]   ${shown}, ${chosen.key}`);
  const spec = {
    ...commonSpec({ ...options, ...present({ lane: options.lane ?? definition?.lane }) }),
    agent: chosen.spec,
    definition: `agent:${name}`,
    ...(definition && definition.env.length > 0 && { env: [...definition.env] }),
  };
  return { spec, title: (prompt || name).slice(0, 200), words: [prompt || name], ...present({ definition }) };
}

/** A session keeps the one that it was opened from, unless another agent is named. */
async function definitionFor(
  dispatcher: Dispatcher,
  options: RunOptions,
): Promise<AgentDefinition | undefined> {
  const { agent, session } = options;
  const from = { ...present({ base: options.base, isFresh: options.fresh, isDirty: options.dirty }) };
  if (session === undefined)
    return requireDefinition(
      dispatcher,
      agent,
      options.repo === false ? undefined : { repo: options.repo ?? ".", ...from },
    );
  const { id } = await sessionOf(dispatcher.holdfast, session, options);
  const state = await dispatcher.holdfast.showSession(id, scope(options));
  if (state.definition && (agent ?? state.definition.name) === state.definition.name) return state.definition;
  return requireDefinition(
    dispatcher,
    agent,
    state.repo === null ? undefined : { repo: state.repo, state, ...from },
  );
}

function specOf(command: string[], options: RunOptions): TaskSpec {
  return {
    agent: {
      adapter: "exec",
      command,
      input: options.interactive ? "terminal" : options.messages ? "messages" : "nothing",
      restart: options.restart ?? false,
    },
    definition: `exec:${basename(command[0] ?? "")}`.slice(0, 200),
    ...commonSpec(options),
  };
}

function commonSpec(options: RunOptions): Omit<TaskSpec, "agent" | "definition"> {
  return {
    ...present({ base: options.base, isFresh: options.fresh, title: options.title?.slice(0, 500) }),
    sandbox: options.sandbox,
    ...laneChoice(options),
  };
}
