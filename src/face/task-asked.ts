/**
 * Owns the way from a task as a program asks for it to its spec: an agent with a prompt, a command, or a script.
 */
import { basename } from "node:path";
import { assertScript } from "../agent/index.ts";
import {
  type AgentDefinition,
  type AgentSpec,
  HoldfastError,
  isKnownAgentName,
  type TaskSpec,
} from "../contract/index.ts";
import type { Dispatcher, SubmitOptions } from "../dispatch/index.ts";
import type { SessionSummary } from "../home/index.ts";
import { present } from "../util/index.ts";
import { chooseAgent } from "./agent-choice.ts";
import { findDefinition } from "./definitions.ts";
import { environmentFor } from "./environment.ts";
import type { TaskRequest } from "./task-request.ts";

/** What is known of the session that the task is for. */
type Of = Pick<SessionSummary, "repo" | "agent" | "definition" | "task" | "branch" | "merged">;

interface Asked {
  readonly spec: TaskSpec;
  readonly title: string;
  readonly options: Pick<SubmitOptions, "env" | "priority" | "budget">;
}

export async function specOf(dispatcher: Dispatcher, task: TaskRequest, session: Of): Promise<Asked> {
  const { title, base, isFresh, cwd, lane, hosts, env, priority, budget } = task;
  const asked = await agentOf(dispatcher, task, session);
  const spec: TaskSpec = {
    agent: asked.agent,
    definition: asked.definition.slice(0, 200),
    ...present({ title, base, isFresh, cwd, hosts: hosts && [...hosts], lane: lane ?? asked.lane }),
    sandbox: true,
  };
  const values = await environmentFor(dispatcher.home, asked.env, env);
  const options = { env: values, ...present({ priority, budget }) };
  return { spec, title: (title ?? asked.words).slice(0, 200), options };
}

interface AskedAgent {
  readonly agent: AgentSpec;
  readonly definition: string;
  readonly words: string;
  readonly lane?: string | undefined;
  /** The variables that its definition names. */
  readonly env?: readonly string[] | undefined;
}

const OF_ONE_KIND = {
  ...{ agent: "prompt", model: "prompt", isContinued: "prompt" },
  ...{ isRestarted: "command", vars: "script" },
} as const satisfies Partial<Record<keyof TaskRequest, "prompt" | "command" | "script">>;

async function agentOf(dispatcher: Dispatcher, task: TaskRequest, session: Of): Promise<AskedAgent> {
  const { prompt, command, script } = task;
  if ([prompt, command, script].filter((one) => one !== undefined).length !== 1)
    throw new HoldfastError(
      "invalid_data",
      "a task has exactly one of prompt, command and script: give one of them",
    );
  for (const [field, kind] of Object.entries(OF_ONE_KIND))
    if (task[kind] === undefined && task[field as keyof TaskRequest] !== undefined)
      throw new HoldfastError("invalid_data", `${field}: only a task with a ${kind} has this field`, {
        field,
      });
  if (command) return commandOf(command, task.isRestarted ?? false);
  if (script !== undefined) return scriptOf(script, task.vars ?? {});
  return promptOf(dispatcher, prompt ?? "", task, session);
}

const commandOf = (command: readonly string[], restart: boolean): AskedAgent => ({
  agent: { adapter: "exec", command: [...command], input: "nothing", restart },
  definition: `exec:${basename(command[0] ?? "")}`,
  words: command.join(" "),
});

async function scriptOf(script: string, vars: Readonly<Record<string, string>>): Promise<AskedAgent> {
  await assertScript(script, vars);
  return {
    agent: { adapter: "script", script, vars: { ...vars }, input: "messages" },
    definition: "script:",
    words: "a script",
  };
}

/** An agent with a prompt: the one that the task names, else the session's, else as `holdfast run` chooses. */
export async function promptOf(
  dispatcher: Dispatcher,
  prompt: string,
  task: Pick<TaskRequest, "agent" | "model" | "isContinued" | "base" | "isFresh">,
  session: Pick<Of, "repo" | "definition" | "task" | "branch" | "merged"> & {
    readonly agent?: string | null;
  },
): Promise<AskedAgent> {
  const name = task.agent ?? session.agent ?? undefined;
  const definition = await definitionOf(dispatcher, name, session, task);
  if (definition?.script !== undefined)
    throw new HoldfastError("invalid_data", `agent ${definition.name} is a script: give its text as script`);
  const model = task.model ?? definition?.model;
  const asked = {
    ...present({ agent: definition ? undefined : name, model }),
    continue: task.isContinued ?? false,
  };
  const chosen = await chooseAgent(dispatcher.home, prompt, asked, definition);
  return {
    agent: chosen.spec,
    definition: `agent:${definition?.name ?? chosen.name}`,
    words: prompt,
    ...{ lane: definition?.lane, env: definition?.env },
  };
}

/** The session's own definition, else that of the repo's file, without the words that no person has accepted. */
async function definitionOf(
  dispatcher: Dispatcher,
  name: string | undefined,
  { repo, definition, ...state }: Pick<Of, "repo" | "definition" | "task" | "branch" | "merged">,
  { base, isFresh }: Pick<TaskRequest, "base" | "isFresh">,
): Promise<AgentDefinition | undefined> {
  if (name === undefined || isKnownAgentName(name)) return undefined;
  if (definition?.name === name) return definition;
  const found = await findDefinition(dispatcher, name, { repo, state, ...present({ base, isFresh }) });
  if (found) return found;
  throw new HoldfastError("unknown_agent", `there is no agent ${name}`, { agent: name });
}
