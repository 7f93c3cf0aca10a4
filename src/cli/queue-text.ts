/**
 * Owns how a task's place in the queue of its session is printed.
 */
import type { Queue } from "../dispatch/index.ts";
import { plural } from "./amounts.ts";

/** Undefined if no task is before it: it begins by itself, or has begun. */
export function placeInQueue({ current, waiting }: Queue, request: string): string | undefined {
  const index = waiting.findIndex((one) => one.request === request);
  const own = waiting[index];
  const before = waiting[index - 1];
  if (!own || (!before && !current)) return undefined;
  const wait = waiting.length === 1 ? "waits" : "wait";
  const parked = current?.parked ? `, which is parked: ${current.parked}` : "";
  const behind = before ? before.short : `task ${current?.task}${parked}`;
  return `${plural(waiting.length, "task")} ${wait}; this one is ${own.short}, after ${behind}`;
}
