/**
 * Owns the way of a task through its stages: route, capsule, act, verify, persist. It begins wherever the fold says, so that a
 * task which is new, was cut off or was paused is run by the same code. Whatever becomes of it is on record: refused,
 * halted or ended.
 *
 * T7 A task goes on where it was cut off, and no agent is run again that had ended.
 *
 * | the fold says                        | it begins at                                                       |
 * |--------------------------------------|--------------------------------------------------------------------|
 * | the request waits in the queue       | route                                                              |
 * | the task began, and acts             | act, if its adapter knows how to go on; else persist: interrupted  |
 * | the task acted, and has not ended    | verify, with the outcome of act; a verdict on record is not asked  |
 * |                                      | for again                                                          |
 *
 * T12 A task that is parked is on record as that only when nothing of it runs and its files are in a checkpoint. A kill
 *     before that leaves a task that was cut off.
 */
import { type Adapter, adapterOf, assertHeld } from "../../agent/index.ts";
import type { Parked, TaskSpec } from "../../contract/index.ts";
import { type Home, layBallast, sessionDirOf } from "../../home/index.ts";
import { assertTerminal } from "../../process/index.ts";
import { askedIn, shortened } from "../../redaction/index.ts";
import { lastTurnOf, type Session, type SessionState } from "../../session/index.ts";
import { capsuleDir, type OnProgress, present } from "../../util/index.ts";
import type { AskedOutcome, TaskOptions } from "../in-hand.ts";
import { requireValues } from "../results/values.ts";
import { Ahead } from "../room/ahead.ts";
import { nextNumber } from "../room/room.ts";
import { bringFiles, roomOf } from "../session/tasks.ts";
import { Task } from "../task.ts";
import { type Acted, act, type Joined } from "./act.ts";
import { makeCapsule } from "./capsule.ts";
import { endTask } from "./ending.ts";
import { halt, refuseTask } from "./failing.ts";
import { findRoute } from "./route.ts";

/** What is to be run, until it ends or is stopped. */
export interface TaskRun {
  readonly home: Home;
  readonly session: Session;
  readonly request: string;
  readonly spec: TaskSpec;
  /** Aborted with a `Stop`. */
  readonly stop: AbortSignal;
  readonly around: Around;
}

/** What a session process adds to the tasks that it runs. */
export interface Around {
  readonly onProgress: OnProgress;
  /** What set-up writes. */
  onSetup(chunk: Buffer): void;
  /** The task has its files. */
  onReady(): void;
  /** Makes ready what the agent's processes hang on. */
  join(task: Task): Promise<Joined>;
}

export type Driven = Pick<Acted, "isOverQuota">;

const ASKED_LENGTH = 200;
const DETAIL_LENGTH = 500;
const notOver: Driven = { isOverQuota: false };

/** Its adapter is the one that its spec names, unless it is one's own. */
export async function runStages(run: TaskRun, adapter: Adapter = adapterOf(run.spec.agent)): Promise<Driven> {
  const first = firstStage(run.session.state, run.request);
  const task = await (first === "route" ? begin(run) : takeUp(run));
  if (!task) return notOver;
  try {
    const acted = await actFrom(run, adapter, task, first);
    if (acted.parked) await park(task, acted.parked);
    else if (acted.outcome === undefined) await task.rest();
    else await finish(run, task, acted.outcome, first !== "ending");
    return acted;
  } catch (error) {
    // First what must not be left behind, then what may fail.
    await task.capsule.detach().catch(() => {});
    await halt(run, error);
    return notOver;
  }
}

type First = "route" | "act" | "ending";

function firstStage({ task }: SessionState, request: string): First {
  if (task?.request !== request || task.outcome !== null) return "route";
  return task.acted === null ? "act" : "ending";
}

/** Route and capsule. Undefined: it was refused, or goes on waiting. */
async function begin(run: TaskRun): Promise<Task | undefined> {
  const { home, session, request, spec, stop, around } = run;
  const sessionDir = sessionDirOf(home, session.id);
  const ahead = spec.sandbox ? Ahead.begin(home.dir, capsuleDir(sessionDir, nextNumber(session))) : undefined;
  try {
    await layBallast(home.dir);
    if (spec.agent.input === "terminal") assertTerminal();
    if (spec.env?.length) requireValues(sessionDir, request, spec.env);
    const room = await roomOf({ ...home, onProgress: around.onProgress }, session);
    const options = optionsOf(run);
    const route = await findRoute(room, { ...options, ahead });
    assertHeld(spec.agent, route.lane);
    const task = await makeCapsule(room, route, options);
    around.onReady();
    return task;
  } catch (error) {
    await ahead?.end();
    await refuseTask(run, error, { isPaused: stop.aborted && stop.reason === "pause" });
    return undefined;
  }
}

function optionsOf({ session, request, spec, stop, around }: TaskRun): TaskOptions {
  const { base, snapshot, isFresh, cwd, env, carried, home, sandbox, lane, hosts, definition } = spec;
  return {
    request,
    sandbox,
    definition,
    signal: stop,
    asked: askedOf(session, spec),
    ...present({ base, snapshot, isFresh, cwd, env, lane, hosts }),
    ...(carried && {
      carried: {
        from: carried.from ?? null,
        tree: carried.tree,
        hasUnpublished: carried.hasUnpublished ?? false,
      },
    }),
    ...(home && { home: { commit: home.snapshot ?? "", manifest: home.manifest ?? "" } }),
    onSetup: around.onSetup,
  };
}

/** A session's title is what its first task is about. */
function askedOf({ state, secrets }: Session, { title, agent }: TaskSpec): string {
  const ofSession = state.task === null ? state.title : null;
  return shortened(title ?? ofSession ?? askedIn(agent), ASKED_LENGTH, secrets);
}

/** One that a crash or a pause cut off. Undefined: its files can't be had. */
async function takeUp(run: TaskRun): Promise<Task | undefined> {
  const { home, session, spec, around } = run;
  const telling = { ...home, onProgress: around.onProgress };
  try {
    await bringFiles(telling, session);
    const task = await Task.current(await roomOf(telling, session), { sandbox: spec.sandbox });
    around.onReady();
    return task;
  } catch (error) {
    await halt(run, error);
    return undefined;
  }
}

async function actFrom(run: TaskRun, adapter: Adapter, task: Task, first: First): Promise<Acted> {
  const { spec, stop, around, session } = run;
  const isCut = first !== "route";
  if (first === "ending") return { ...notOver, outcome: actedAs(session.state) };
  if (isCut && !(await canGoOn(run, adapter))) return { ...notOver, outcome: "interrupted" };
  return act(task, spec, { adapter, stop, isGoingOn: isCut, join: () => around.join(task) });
}

async function park(task: Task, { reason, until, detail }: Parked): Promise<void> {
  const { session } = task.room;
  const isKept = session.state.task?.snapshot?.turn === lastTurnOf(session.state);
  // As when it ends: in a sandbox nothing has written since its last turn, if that came to its checkpoint.
  if (!task.sandbox || !task.last.current || !isKept) {
    await task.network.close();
    await task.capsule.detach();
    await task.checkpoint();
  }
  await task.rest();
  await session.append("task_parked", {
    task: task.number,
    reason,
    ...present({ until, detail: detail?.slice(0, DETAIL_LENGTH) }),
  });
}

/** Without what it was promised it is not started again: that is said, and its work is kept. */
async function canGoOn(run: TaskRun, adapter: Adapter): Promise<boolean> {
  const { home, session, request, spec } = run;
  if (!adapter.goesOn(spec.agent)) return false;
  try {
    if (spec.env?.length) requireValues(sessionDirOf(home, session.id), request, spec.env);
    return true;
  } catch (error) {
    await halt(run, error);
    return false;
  }
}

const outcomes: readonly AskedOutcome[] = ["done", "failed", "cancelled", "interrupted"];

function actedAs({ task }: SessionState): AskedOutcome {
  return outcomes.find((one) => one === task?.acted) ?? "interrupted";
}

/** Verify and persist. A task that is paused while its checks run goes on with them. */
async function finish(
  { stop }: TaskRun,
  task: Task,
  outcome: AskedOutcome,
  hasActed: boolean,
): Promise<void> {
  const { session } = task.room;
  const of = { task: task.number };
  const told: Promise<unknown>[] = [];
  // In one batch with what is recorded next.
  const tell = (telling: Promise<unknown>) => {
    telling.catch(() => {});
    told.push(telling);
  };
  if (hasActed) tell(session.append("stage_ended", { ...of, stage: "act", outcome }));
  const onPersist = () => tell(session.append("stage_started", { ...of, stage: "persist" }));
  // In a sandbox nothing outlives the agent's processes: a checkpoint after their end needs no second one.
  const at = task.sandbox && hasActed ? task.last.current : undefined;
  const end = await endTask(task, outcome, { at, stop, onPersist });
  if (!end && stop.reason === "interrupt") await endTask(task, "cancelled", { onPersist });
  else if (!end) await task.rest();
  await Promise.all(told);
}
