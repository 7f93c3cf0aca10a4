/**
 * Owns the second stage: a task gets its capsule and is recorded as started. A task that can't be started
 * leaves the session as it was.
 *
 * What a kill leaves: before the record, a capsule that no record names, which the next task's start clears
 * away, or one that was handed on and goes back to the task before (hand-on-1). After the record, a task that
 * was cut off at its next stage.
 */

import { isShippedLane, type LaneTools } from "../../contract/index.ts";
import type { Lane } from "../../lane/index.ts";
import type { HomeState } from "../../session/index.ts";
import { present } from "../../util/index.ts";
import { beginFiles, carriedIn } from "../files/begin.ts";
import { assertDirectory } from "../files/start-directory.ts";
import { restoreHome } from "../home/session-home.ts";
import type { TaskOptions } from "../in-hand.ts";
import type { Room } from "../room/room.ts";
import { setupFor } from "../room/setup.ts";
import { Task } from "../task.ts";
import type { Route } from "./route.ts";

export async function makeCapsule(room: Room, route: Route, options: TaskOptions): Promise<Task> {
  const { session } = room;
  const { number, settings, sandbox, lane, quota, from } = route;
  const { signal, onSetup = () => {} } = options;
  if (!sandbox) await session.append("sandbox_waived", { task: number, reason: "asked" });
  const hosts = settings.setupHosts;
  const runSetup = setupFor(room, { sandbox, hosts, quota, onOutput: onSetup, signal });
  const coming = route.ahead?.holder;
  const begun = await beginFiles(room, from, { number, settings, sandbox, coming, runSetup, signal });
  const { capsule } = begun;
  let mayBeOnRecord = false;
  try {
    if (options.cwd !== undefined) assertDirectory((await capsule.attach()).root, options.cwd);
    if (options.home) await restoreHome(room, options.home);
    mayBeOnRecord = true;
    await record(room, route, options, begun);
    await begun.settle();
    return new Task(room, capsule, { sandbox, lane });
  } catch (error) {
    // The journal then decides whose files they are, and the next use of them follows it (hand-on-1).
    await (mayBeOnRecord ? capsule.detach() : begun.undo());
    throw error;
  }
}

/** Appends the records in one batch: if the first is refused, so are the others. */
async function record(
  room: Room,
  { number: task, from, lane, notAccepted, startedMs }: Route,
  { request, asked, env = [], home: asHome }: TaskOptions,
  { capsule, missingIncludes }: Awaited<ReturnType<typeof beginFiles>>,
): Promise<void> {
  const { session, io } = room;
  const base = capsule.spec.base ?? undefined;
  const snapshot = from.carried?.snapshot;
  const carried = carriedIn(room, from);
  const home = homeIn(asHome ?? session.state.home);
  await Promise.all([
    session.append("task_started", {
      task,
      ...present({ request, asked, snapshot, base, carried, home }),
      ...(env.length > 0 && { env: [...env] }),
      ...laneIn(lane),
      ...(notAccepted.length > 0 && { notAccepted: notAccepted.map(({ key, value }) => ({ key, value })) }),
    }),
    session.append("stage_ended", { task, stage: "route" }),
    session.append("capsule_created", {
      task,
      strategy: capsule.spec.strategy,
      ports: capsule.spec.ports,
      durationMs: Math.round(io.clock.monotonicMs() - startedMs),
      ...(missingIncludes.length > 0 && { missing: [...missingIncludes] }),
      ...present({ base }),
    }),
    session.append("stage_ended", { task, stage: "capsule" }),
  ]);
}

/** The lane in the form of `task_started`. */
function laneIn({ name, isReadOnly, isWithoutCommands, hosts, tools }: Lane) {
  return {
    lane: name,
    ...(isReadOnly && { isReadOnly }),
    ...(isWithoutCommands && { isWithoutCommands }),
    ...(hosts.length > 0 && { hosts: [...hosts] }),
    ...(!isShippedLane(name) && { tools: listsOf(tools) }),
  };
}

const listsOf = ({ read, write, external, approval }: LaneTools) => ({
  read: [...read],
  write: [...write],
  external: [...external],
  approval: [...approval],
});

/** The HOME that the task begins with, so that it can be run again. Undefined when no checkpoint has it. */
function homeIn(home: HomeState | null): { snapshot?: string; manifest?: string } | undefined {
  if (home === null) return undefined;
  return home.commit === "" ? {} : { snapshot: home.commit, manifest: home.manifest };
}
