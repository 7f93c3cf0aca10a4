/**
 * Owns what all rules about the latest task share: how it is changed, and whether it is under way.
 */
import type { HoldfastError } from "../../contract/index.ts";
import type { SessionState } from "../state.ts";
import type { TaskState } from "../task-state.ts";
import { refuse } from "./rule.ts";

export function inTask(
  { task }: Pick<SessionState, "task">,
  change: Partial<TaskState>,
): Partial<SessionState> {
  return task ? { task: { ...task, ...change } } : {};
}

export function refusalUnlessUnderWay(
  { task: current }: SessionState,
  task: number,
): HoldfastError | undefined {
  return task === current?.number && current.outcome === null
    ? undefined
    : refuse("invalid_data", `task ${task} is not under way`);
}
