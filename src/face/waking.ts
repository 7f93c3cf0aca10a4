/**
 * Owns how a person's message wakes a session at rest. If its agent is known, a task begins that continues the agent's
 * conversation, with the same model, and the message is the first that it gets. A session that a person paused stays
 * paused, and a parked task stays parked. A message permits nothing: the new task may do no more than the task that it
 * continues, and no more than a task may by default. Hosts that were allowed by hand were for the old task alone.
 */
import { closeSync } from "node:fs";
import { defaultConfig } from "../config/index.ts";
import type { TaskSpec } from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import type { SessionSummary } from "../home/index.ts";
import { acceptedPart, laneWithin } from "../lane/index.ts";
import { readRepoFile } from "../task/index.ts";
import { present } from "../util/index.ts";
import { environmentFor } from "./environment.ts";
import { promptOf } from "./task-asked.ts";

/** Resolves to whether the session was woken. The task gets the variables of this process that the settings name. */
export async function wake(
  dispatcher: Dispatcher,
  id: string,
  scope: { readonly user?: string },
): Promise<boolean> {
  const resting = await dispatcher.holdfast.showSession(id, scope);
  if (!resting.conversation || !mayBeWoken(resting)) return false;
  const last = await dispatcher.lastConversed(id, scope);
  if (!last || last.agent.adapter === "exec" || last.agent.adapter === "script") return false;
  const asked = { agent: last.name, isContinued: true, ...present({ model: last.agent.model }) };
  const { agent, definition, lane: own, env = [] } = await promptOf(dispatcher, "", asked, resting);
  const lane = last.lane === undefined ? own : await laneFor(dispatcher, resting, last.name, last.lane);
  const spec: TaskSpec = {
    agent,
    definition,
    ...present({ lane, env: env.length > 0 ? [...env] : undefined }),
    title: "a message",
    sandbox: true,
  };
  const values = await environmentFor(dispatcher.home, env);
  const { outputFd } = await dispatcher.submit(id, spec, { ...scope, env: values });
  closeSync(outputFd);
  return true;
}

type Resting = Pick<
  SessionSummary,
  | "branch"
  | "conversation"
  | "definition"
  | "due"
  | "handoff"
  | "merged"
  | "pausedFor"
  | "repo"
  | "status"
  | "task"
>;

async function laneFor(
  { home }: Dispatcher,
  { repo, task, branch, merged, definition }: Resting,
  agent: string,
  last: string,
): Promise<string> {
  const { config } =
    repo === null
      ? { config: acceptedPart(defaultConfig, () => false) }
      : await readRepoFile(home, { repo, state: { task, branch, merged } });
  return laneWithin(config, last, definition?.name === agent ? definition.lane : undefined);
}

const STAYING: readonly string[] = ["closed", "archived", "damaged", "interrupted"];

function mayBeWoken({ due, handoff, pausedFor, status, task }: Resting): boolean {
  // A person waived the sandbox for the last task alone.
  if (task && !task.isSandboxed) return false;
  // Its agent reads the message when the task goes on.
  if (task?.outcome === null && task.parked) return false;
  const isStopped =
    pausedFor === "asked" || pausedFor === "budget" || pausedFor === "quota" || pausedFor === "import";
  return due === "nothing" && handoff === null && !isStopped && !STAYING.includes(status);
}
