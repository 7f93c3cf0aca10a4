/**
 * Owns how the arguments of `run` become the spec of a task: an agent with a task in plain words, or a
 * command.
 */
import { basename } from "node:path";
import { type AgentDefinition, type AgentSpec, HoldfastError, type TaskSpec } from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import type { AgentOptions } from "../face/index.ts";
import { findProgram } from "../process/index.ts";
import { commandLine } from "../redaction/index.ts";
import type { WhichFile } from "../task/index.ts";
import { present } from "../util/index.ts";
import { requireDefinition } from "./definitions.ts";
import type { EnvironmentOptions } from "./environment.ts";
import { type LaneOptions, laneChoice } from "./lane-options.ts";
import type { PlaceOptions } from "./run-place.ts";
import { note } from "./screen.ts";
import { definedScript, fileScript, type ScriptOptions } from "./script-asked.ts";
import { type BudgetOptions, type CommonOptions, scope } from "./verb.ts";
import { sessionOf } from "./which-session.ts";

export type RunOptions = CommonOptions &
  BudgetOptions &
  PlaceOptions &
  EnvironmentOptions &
  LaneOptions &
  AgentOptions &
  ScriptOptions & {
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

/** A word that names a program was meant as a command. */
export function assertWords(words: readonly string[], hasCommand: boolean, options: RunOptions): void {
  const [first = ""] = words;
  if (hasCommand && first === "")
    throw new HoldfastError("usage", "the command after -- is empty: give the command to run");
  if (hasCommand && (options.agent !== undefined || options.model !== undefined || options.continue))
    throw new HoldfastError(
      "usage",
      "--agent, --model and --continue are for a task in plain words: leave them out with a command",
    );
  if (hasCommand && (options.script !== undefined || options.var !== undefined))
    throw new HoldfastError("usage", "--script and --var are for a script: leave them out with a command");
  if (hasCommand) return;
  if (options.messages || options.restart)
    throw new HoldfastError(
      "usage",
      "--messages and --restart are for a command: leave them out, because an agent does both by itself",
    );
  if (options.continue && options.session === undefined)
    throw new HoldfastError(
      "usage",
      "--continue needs --session, which names the session whose conversation continues",
    );
  if (options.script !== undefined) {
    assertScript(options);
    return;
  }
  if (options.agent === undefined && !options.interactive) assertPrompt(words.join(""));
  if (!first.includes(" ") && findProgram(first) !== undefined)
    throw new HoldfastError(
      "usage",
      `${first} is a program. To run it: holdfast run -- ${words.join(" ")}. To give these words to an agent, put all of them in quotes`,
    );
}

function assertScript({ agent, model, continue: goesOn, interactive }: RunOptions): void {
  if (agent !== undefined || model !== undefined || goesOn || interactive)
    throw new HoldfastError(
      "usage",
      "--agent, --model, --continue and -i are for an agent: leave them out with a script",
    );
}

function assertPrompt(prompt: string): void {
  if (prompt.trim() === "")
    throw new HoldfastError(
      "usage",
      "give the task in words, holdfast run TEXT, or a command, holdfast run -- CMD",
    );
}

/** The spec of the task, and the words that a new session gets its name from. */
export interface AskedFor {
  readonly spec: TaskSpec;
  readonly title: string;
  readonly words: readonly string[];
  /** The agent definition that it follows. */
  readonly definition?: AgentDefinition;
}

export function commandAsked(words: string[], options: RunOptions): AskedFor {
  return { spec: specOf(words, options), title: commandLine(words).slice(0, 200), words };
}

/** The steps of a file. Words beside it are its `${task}`. */
export async function scriptAsked(path: string, prompt: string, options: RunOptions): Promise<AskedFor> {
  const agent = await fileScript(path, prompt, options);
  const title = prompt || basename(path);
  const spec = { ...commonSpec(options), agent, definition: `script:${basename(path)}`.slice(0, 200) };
  return { spec, title: title.slice(0, 200), words: [title] };
}

export async function agentAsked(
  dispatcher: Dispatcher,
  prompt: string,
  options: RunOptions,
): Promise<AskedFor> {
  const { chooseAgent } = await import("../face/index.ts");
  const { definition, which } = await definitionFor(dispatcher, options);
  if (definition?.script !== undefined) {
    const agent = await definedScript(dispatcher.home, definition, which, { prompt, var: options.var });
    return askedOf(agent, prompt, options, { name: definition.name, definition });
  }
  if (options.var !== undefined)
    throw new HoldfastError(
      "usage",
      "--var needs a script: --script FILE, or an agent definition that names one",
    );
  if (!options.interactive && !options.continue) assertPrompt(prompt);
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
  return askedOf(chosen.spec, prompt, options, { name, definition });
}

function askedOf(
  agent: AgentSpec,
  prompt: string,
  options: RunOptions,
  { name, definition }: { readonly name: string; readonly definition: AgentDefinition | undefined },
): AskedFor {
  const spec = {
    ...commonSpec({ ...options, ...present({ lane: options.lane ?? definition?.lane }) }),
    agent,
    definition: `agent:${name}`,
    ...(definition && definition.env.length > 0 && { env: [...definition.env] }),
  };
  return { spec, title: (prompt || name).slice(0, 200), words: [prompt || name], ...present({ definition }) };
}

interface Defined {
  readonly definition: AgentDefinition | undefined;
  /** Where the definition was found. */
  readonly which: WhichFile | undefined;
}

/** A session keeps the definition that it was opened from, unless another agent is named. */
async function definitionFor(dispatcher: Dispatcher, options: RunOptions): Promise<Defined> {
  const { agent, session } = options;
  const from = { ...present({ base: options.base, isFresh: options.fresh, isDirty: options.dirty }) };
  if (session === undefined) {
    const which = options.repo === false ? undefined : { repo: options.repo ?? ".", ...from };
    return { which, definition: await requireDefinition(dispatcher, agent, which) };
  }
  const { id } = await sessionOf(dispatcher.holdfast, session, options);
  const state = await dispatcher.holdfast.showSession(id, scope(options));
  const which = state.repo === null ? undefined : { repo: state.repo, state, ...from };
  const { definition: kept } = state;
  const isKept = kept !== null && (agent ?? kept.name) === kept.name;
  return { which, definition: isKept ? kept : await requireDefinition(dispatcher, agent, which) };
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
