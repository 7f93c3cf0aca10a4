/**
 * Owns the end of a parked task that does not go on: it is cancelled, and its work is saved as that of any
 * other task.
 */
import type { Home } from "../../home/index.ts";
import { type Session, taskUnderWay } from "../../session/index.ts";
import { endTask } from "../stages/ending.ts";
import { Task } from "../task.ts";
import { roomOf } from "./tasks.ts";

/** For the session's owner. Does nothing when its task is not parked. */
export async function cancelParked(home: Home, session: Session): Promise<void> {
  const task = taskUnderWay(session.state);
  if (!task?.parked) return;
  if (task.capsule !== "there") {
    await session.append("task_ended", { task: task.number, outcome: "cancelled" });
    return;
  }
  const room = await roomOf(home, session);
  await endTask(await Task.current(room, { sandbox: task.isSandboxed }), "cancelled");
}
