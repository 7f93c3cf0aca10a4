/**
 * Owns how a session comes to rest when its process leaves it. What came in while we got ready to leave is
 * for the next process; the session is ours until nothing of this process is left.
 */
import type { Home } from "../home/index.ts";
import { type Session, taskUnderWay } from "../session/index.ts";
import { restFiles } from "../task/index.ts";
import type { RestReason } from "./life.ts";

export async function putFilesToRest(home: Home, session: Session): Promise<void> {
  // A task that ended or was parked has its checkpoint, and nothing has run since.
  const task = taskUnderWay(session.state);
  if (session.state.status !== "paused" && task && !task.parked) await restFiles(home, session);
}

/** A session that reached its budget or its quota is paused for that. */
export async function recordPause(session: Session, reason: RestReason): Promise<void> {
  if (session.state.status !== "paused") await session.append("session_paused", { reason });
}
