/**
 * Owns what is read from the last task of a session: how to run it again, and what it ran.
 */
import { HoldfastError, type Json, parseTaskSpec, type TaskSpec } from "../contract/index.ts";
import type { FoundSession, Home } from "../home/index.ts";
import type { LaneChoice } from "../lane/index.ts";
import { findLastRecord, inspectSession } from "../session/index.ts";
import { assertWhole } from "../task/index.ts";
import { isPlainObject, present, shellText } from "../util/index.ts";
import { assertCanRetry } from "./under-way.ts";

export interface TaskAgain {
  readonly spec: TaskSpec;
  /**
   * Variables that the task had and does not get now: it was asked for elsewhere, so they would be filled
   * with values of the caller.
   */
  readonly withheld: readonly string[];
}

/**
 * The last task of a session, for another run: from the same base, in a fresh capsule, in the same lane
 * unless another is chosen. Refused while other tasks come first.
 */
export async function taskAgain(
  home: Home,
  found: FoundSession,
  choice: LaneChoice = {},
): Promise<TaskAgain> {
  await assertCanRetry(home, found);
  const { state } = await inspectSession(found.dir);
  const find = (type: string, key: string, value: unknown) =>
    findLastRecord(found.dir, (record) => record.type === type && record.data[key] === value);
  const begun = state.task && (await find("task_started", "task", state.task.number));
  const request = begun?.data["request"];
  if (!state.task || !begun || request === undefined)
    throw new HoldfastError("no_task", `session ${found.id} has had no task, so there is none to run again`);
  const queued = await find("task_queued", "request", request);
  if (!queued)
    throw new HoldfastError(
      "no_task",
      `the journal of session ${found.id} does not contain all of its last task, so it can't be run again`,
    );
  assertWhole(queued);
  const { env: had, ...spec } = parseTaskSpec(queued.data["spec"]);
  // In another session or another home, perhaps by another person.
  const isFromElsewhere = state.task.request === null;
  if (isFromElsewhere && !spec.sandbox)
    throw new HoldfastError(
      "no_task",
      "the last task was asked for elsewhere, without a sandbox, so it is not run again here",
    );
  const { base, snapshot, home: asHome, carried } = begun.data;
  // It begins at the same commit, whatever name the base had then.
  const begins = { isFresh: undefined, base, snapshot, home: asHome, carried };
  const env = isFromElsewhere ? undefined : had;
  const again = present({ ...spec, env, ...begins, ...laneOf(spec, choice, isFromElsewhere) });
  return { spec: parseTaskSpec(again), withheld: isFromElsewhere ? (had ?? []) : [] };
}

/** The spec of the task in which the session's conversation was last held. */
export interface Conversed extends Pick<TaskSpec, "agent"> {
  /** The agent, or its definition. */
  readonly name: string;
  /** The lane that the task was in; undefined for a task of an earlier version. */
  readonly lane: string | undefined;
}

/** Undefined if that is not on record. */
export async function lastConversed({ dir }: FoundSession): Promise<Conversed | undefined> {
  const { conversation } = (await inspectSession(dir)).state;
  const find = (type: string, key: string, value: Json | undefined) =>
    findLastRecord(dir, (record) => record.type === type && record.data[key] === value);
  const begun = conversation && (await find("task_started", "task", conversation.task));
  const { request, lane } = begun?.data ?? {};
  const queued = request === undefined ? undefined : await find("task_queued", "request", request);
  if (!queued) return undefined;
  const { agent, definition } = parseTaskSpec(queued.data["spec"]);
  return { agent, name: definition.replace(/^agent:/, ""), lane: lane === undefined ? lane : String(lane) };
}

/** What was allowed to a task elsewhere is not allowed to it here. */
function laneOf({ lane, hosts }: LaneChoice, choice: LaneChoice, isFromElsewhere: boolean): LaneChoice {
  if (!isFromElsewhere) return { lane: choice.lane ?? lane, hosts: choice.hosts ?? hosts };
  if (choice.lane === undefined && (lane !== undefined || hosts !== undefined)) {
    const had = [...(lane === undefined ? [] : [`lane ${lane}`]), ...(hosts ?? [])].join(", ");
    throw new HoldfastError(
      "usage",
      `the last task was asked for elsewhere, with ${had}: name the lane that it may have here, for example --lane repo-fix`,
    );
  }
  return { lane: choice.lane, hosts: choice.hosts };
}

/** The last command that was run, in the session or in one task, without secrets; null if there was none. */
export async function lastCommand(dir: string, task: number | undefined): Promise<string | null> {
  let current: Json = null;
  const begun = await findLastRecord(dir, ({ type, data }) => {
    if (type === "task_started") current = data["task"] ?? null;
    return type === "turn_started" && (task === undefined || task === current);
  });
  const input = begun?.data["input"];
  const command = isPlainObject(input) ? input["command"] : undefined;
  return Array.isArray(command) ? shellText(command.map(String)) : null;
}
