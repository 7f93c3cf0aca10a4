/**
 * Owns the waking of a session that is at rest by what a person says to it: where its agent is known, a task begins that
 * goes on in its conversation, and the message is the first that it hears. What a person paused stays paused, and so does
 * a task that is parked.
 */
import { closeSync } from "node:fs";
import type { Dispatcher } from "../dispatch/index.ts";
import type { SessionSummary } from "../home/index.ts";
import { chooseAgent } from "./agent-choice.ts";
import type { NamedSession } from "./which-session.ts";

type Resting = Pick<SessionSummary, "conversation" | "due" | "handoff" | "pausedFor" | "status" | "task">;

/** Says whether it was. */
export async function wake(dispatcher: Dispatcher, { id }: NamedSession, resting: Resting): Promise<boolean> {
  const { conversation, task } = resting;
  if (!conversation || !mayBeWoken(resting)) return false;
  const asked = { agent: conversation.agent, continue: true };
  const { spec: agent, name } = await chooseAgent(dispatcher.home, "", asked);
  const spec = { agent, definition: `agent:${name}`, title: "a message", sandbox: task?.isSandboxed ?? true };
  const { outputFd } = await dispatcher.submit(id, spec);
  closeSync(outputFd);
  return true;
}

const STAYING: readonly string[] = ["closed", "archived", "damaged", "interrupted", "parked"];

function mayBeWoken({ due, handoff, pausedFor, status }: Resting): boolean {
  const isStopped = pausedFor === "asked" || pausedFor === "budget" || pausedFor === "quota";
  return due === "nothing" && handoff === null && !isStopped && !STAYING.includes(status);
}
