/**
 * Owns the waking of a session that is at rest by what a person says to it: where its agent is known, a task begins that
 * goes on in its conversation, and the message is the first that it hears. What a person paused stays paused, and so does
 * a task that is parked.
 */
import { closeSync } from "node:fs";
import type { Dispatcher } from "../dispatch/index.ts";
import type { SessionSummary } from "../home/index.ts";
import { environmentOf } from "./environment.ts";
import { agentAsked } from "./run-asked.ts";
import type { NamedSession } from "./which-session.ts";

type Resting = Pick<
  SessionSummary,
  "conversation" | "definition" | "due" | "handoff" | "pausedFor" | "status" | "task"
>;

/** Says whether it was. */
export async function wake(dispatcher: Dispatcher, { id }: NamedSession, resting: Resting): Promise<boolean> {
  const { conversation, definition, task } = resting;
  if (!conversation || !mayBeWoken(resting)) return false;
  const agent = definition ? definition.name : conversation.agent;
  const options = { agent, session: id, continue: true, sandbox: task?.isSandboxed ?? true, json: true };
  const { spec } = await agentAsked(dispatcher, "", { ...options, title: "a message" });
  const env = await environmentOf({}, dispatcher.home.dir, spec.env);
  const { outputFd } = await dispatcher.submit(id, spec, { env });
  closeSync(outputFd);
  return true;
}

const STAYING: readonly string[] = ["closed", "archived", "damaged", "interrupted", "parked"];

function mayBeWoken({ due, handoff, pausedFor, status }: Resting): boolean {
  const isStopped =
    pausedFor === "asked" || pausedFor === "budget" || pausedFor === "quota" || pausedFor === "import";
  return due === "nothing" && handoff === null && !isStopped && !STAYING.includes(status);
}
