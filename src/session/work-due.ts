/**
 * Owns the decision what a session has to do next, and so whether its work was cut off. Pure. The lock tells
 * whether a process is already doing it, and the status whether a person wants it.
 *
 * A task that a harness drives by itself has no request. It is under way, but no session process continues
 * it. A parked task is under way too, but nothing is due until it is released; the queued tasks come after
 * it.
 */
import type { SessionState } from "./state.ts";
import type { TaskState } from "./task-state.ts";

export type WorkDue =
  | { readonly kind: "nothing"; readonly request: null }
  /** A person discarded the files of the task while it was under way, so it can only be ended. */
  | { readonly kind: "end"; readonly request: string; readonly task: number }
  /** The task was cut off. Its spec says whether it is started again, or ended with its work kept. */
  | { readonly kind: "go_on"; readonly request: string; readonly task: number }
  /** The first task of the queue. */
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

/** The task that has begun and not ended. */
export function taskUnderWay({ task }: Pick<SessionState, "task">): TaskState | null {
  return task?.outcome === null ? task : null;
}

/**
 * The task that began from the queue and has not ended: a process works on it, or it was cut off or parked.
 */
export function drivenTask(state: Pick<SessionState, "task">): Driven | null {
  const task = taskUnderWay(state);
  return task && isDriven(task) ? task : null;
}

/** Whether the agent of its task has ended: the checks and the publishing that are left ask no model. */
export const hasActed = (state: Pick<SessionState, "task">) => (taskUnderWay(state)?.acted ?? null) !== null;

/** Whether a task is neither queued nor under way. */
export function isTaskOver(state: Pick<SessionState, "task" | "queue">, request: string): boolean {
  return !requestsDue(state).includes(request);
}

/** The tasks that are under way or queued, in the order in which they run. */
export function requestsDue(state: Pick<SessionState, "task" | "queue">): readonly string[] {
  const driven = drivenTask(state);
  return [...(driven ? [driven.request] : []), ...state.queue.map(({ request }) => request)];
}

const isDriven = (task: TaskState): task is Driven => task.request !== null;
