/**
 * Owns how a person's message wakes a session at rest. If its agent is known, a task begins that goes on in
 * the agent's conversation, with the same model, and the message is the first that it gets. A session that a
 * person paused stays paused, and a parked task stays parked. A message permits nothing: the new task may do
 * no more than the task that it continues, and no more than a task may by default. Hosts that were allowed by
 * hand were for the old task alone.
 */
import { closeSync } from "node:fs";
import { defaultConfig } from "../config/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import type { SessionSummary } from "../home/index.ts";
import { acceptedPart, laneWithin } from "../lane/index.ts";
import { readRepoFile } from "../task/index.ts";
import { present } from "../util/index.ts";
import { environmentOf } from "./environment.ts";
import { agentAsked } from "./run-asked.ts";
import { type CommonOptions, scope } from "./verb.ts";
import type { NamedSession } from "./which-session.ts";

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

/** Resolves to whether the session was woken. */
export async function wake(
  dispatcher: Dispatcher,
  { id }: NamedSession,
  resting: Resting,
  common: CommonOptions,
): Promise<boolean> {
  if (!resting.conversation || !mayBeWoken(resting)) return false;
  const last = await dispatcher.lastConversed(id, scope(common));
  if (!last || last.agent.adapter === "exec" || last.agent.adapter === "script") return false;
  const { name: agent } = last;
  const lane = last.lane === undefined ? undefined : await laneFor(dispatcher, resting, agent, last.lane);
  const { spec } = await agentAsked(dispatcher, "", {
    ...common,
    ...present({ lane, model: last.agent.model }),
    agent,
    session: id,
    continue: true,
    sandbox: true,
    json: true,
    title: "a message",
  });
  const env = await environmentOf({}, dispatcher.home.dir, spec.env);
  const { outputFd } = await dispatcher.submit(id, spec, { ...scope(common), env });
  closeSync(outputFd);
  return true;
}

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

const STAYING: readonly string[] = ["closed", "archived", "damaged", "interrupted", "parked"];

function mayBeWoken({ due, handoff, pausedFor, status, task }: Resting): boolean {
  // A person waived the sandbox for the last task alone.
  if (task && !task.isSandboxed) return false;
  const isStopped =
    pausedFor === "asked" || pausedFor === "budget" || pausedFor === "quota" || pausedFor === "import";
  return due === "nothing" && handoff === null && !isStopped && !STAYING.includes(status);
}
