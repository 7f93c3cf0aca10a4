/**
 * Owns what a session has to do, read from the fold by its process: a task that was cut off, and the first
 * task of the queue, which waits while a task is parked.
 */
import { adapterOf } from "../agent/index.ts";
import { type Session, taskUnderWay, workDue } from "../session/index.ts";
import type { CutWork } from "./life.ts";
import type { SessionMail } from "./session-mail.ts";

export const nextOf = ({ state }: Session): string | null =>
  taskUnderWay(state)?.parked ? null : (state.queue[0]?.request ?? null);

/** What a crash or a pause cut off. A task that can only be ended is ended here. */
export async function cutWork(session: Session, mail: SessionMail): Promise<CutWork | null> {
  const due = workDue(session.state);
  if (due.kind === "end") {
    await session.append("task_ended", { task: due.task, outcome: "interrupted" });
    await mail.forgetIfOver(due.request);
  }
  if (due.kind !== "go_on") return null;
  const { request } = due;
  const { agent } = await mail.spec(request);
  return { kind: "cut", request, isStartedAgain: adapterOf(agent).goesOn(agent) };
}
