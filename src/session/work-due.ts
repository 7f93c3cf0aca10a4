/**
 * Owns the answer to what a session that stands like this has to do next, and so to the question whether its work was
 * cut off. Pure: whether a process does it already is the lock's to say, and whether a person wants it, the status's.
 *
 * A task that a harness drives by itself has no request. It is under way, but no session process has to go on with it.
 * One that is parked is under way, too, and due for nothing until it is let go on; those in the queue come after it.
 */
import type { SessionState } from "./state.ts";
import type { TaskState } from "./task-state.ts";

export type WorkDue =
  | { readonly kind: "nothing"; readonly request: null }
  /** Its files were taken away in the middle, by a person who had no more use for it: it can only be ended. */
  | { readonly kind: "end"; readonly request: string; readonly task: number }
  /** In the middle: its spec says whether it is started again, or ended with its work kept. */
  | { readonly kind: "go_on"; readonly request: string; readonly task: number }
  /** The first of the queue. */
  | { readonly kind: "begin"; readonly request: string };

type Driven = TaskState & { readonly request: string };

export function workDue(state: Pick<SessionState, "task" | "queue">): WorkDue {
  if (taskUnderWay(state)?.parked) return nothing;
  const driven = drivenTask(state);
  if (driven) {
    const { request, number: task, capsule } = driven;
    return { kind: capsule === "torn_down" ? "end" : "go_on", request, task };
  }
  const [next] = state.queue;
  return next ? { kind: "begin", request: next.request } : nothing;
}

const nothing: WorkDue = { kind: "nothing", request: null };

/** The task that began and has not ended. */
export function taskUnderWay({ task }: Pick<SessionState, "task">): TaskState | null {
  return task?.outcome === null ? task : null;
}

/** The task that began from the queue and has not ended: a process is at it, or was until it was cut off or parked. */
export function drivenTask(state: Pick<SessionState, "task">): Driven | null {
  const task = taskUnderWay(state);
  return task && isDriven(task) ? task : null;
}

/** Whether a task neither waits nor is under way. */
export function isTaskOver(state: Pick<SessionState, "task" | "queue">, request: string): boolean {
  return !requestsDue(state).includes(request);
}

/** The tasks that are under way or wait, in the order in which they come. */
export function requestsDue(state: Pick<SessionState, "task" | "queue">): readonly string[] {
  const driven = drivenTask(state);
  return [...(driven ? [driven.request] : []), ...state.queue.map(({ request }) => request)];
}

const isDriven = (task: TaskState): task is Driven => task.request !== null;
