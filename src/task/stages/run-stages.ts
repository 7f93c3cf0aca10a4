/**
 * Owns a task's way through its stages: route, capsule, act, verify, persist. It begins at the stage that the
 * fold names, so the same code runs a task that is new, was cut off or was paused. The outcome is always
 * recorded: refused, halted or ended.
 *
 * stages-1 A task goes on where it was cut off, and an agent that had ended is not run again.
 *
 * | the fold has                         | it begins at                                                     |
 * |--------------------------------------|------------------------------------------------------------------|
 * | the request in the queue             | route                                                            |
 * | a task in act                        | act, if its adapter can go on; else persist, as interrupted      |
 * | a task after act that has not ended  | verify, with the recorded outcome of act; where a verdict is on  |
 * |                                      | record, the checks do not run again                              |
 *
 * park-1 A task is recorded as parked only when none of its processes runs and its files are in a checkpoint.
 *    A kill before that leaves a task that was cut off.
 * park-2 A task is not parked for a request that was decided since the agent ended: it is driven again.
 */
import { type Adapter, adapterOf, assertHeld } from "../../agent/index.ts";
import { isHoldfastError, type Parked, type TaskSpec } from "../../contract/index.ts";
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

/** A task to run until it ends or is stopped. */
export interface TaskRun {
  readonly home: Home;
  readonly session: Session;
  readonly request: string;
  readonly spec: TaskSpec;
  /** Its abort reason is a `Stop`. */
  readonly stop: AbortSignal;
  readonly around: Around;
}

/** What a session process provides for the tasks that it runs. */
export interface Around {
  readonly onProgress: OnProgress;
  /** Gets the output of set-up. */
  onSetup(chunk: Buffer): void;
  /** Called when the task has its files. */
  onReady(): void;
  /** Prepares what the agent's processes need. */
  join(task: Task): Promise<Joined>;
}

export interface Driven extends Pick<Acted, "isOverQuota"> {
  /** The task waits for nothing, and its agent has not ended: it is to be driven again. */
  readonly goesOn: boolean;
}

const ASKED_LENGTH = 200;
const DETAIL_LENGTH = 500;
const notOver: Driven = { isOverQuota: false, goesOn: false };

/** Uses the adapter that the task's spec names, unless the caller passes one. */
export async function runStages(run: TaskRun, adapter: Adapter = adapterOf(run.spec.agent)): Promise<Driven> {
  const first = firstStage(run.session.state, run.request);
  const task = await (first === "route" ? begin(run) : takeUp(run));
  if (!task) return notOver;
  try {
    const acted = await actFrom(run, adapter, task, first);
    const { isOverQuota } = acted;
    if (acted.parked) return { isOverQuota, goesOn: !(await park(task, acted.parked)) };
    if (acted.outcome === undefined) await task.rest();
    else await finish(run, task, acted.outcome, first !== "ending");
    return { isOverQuota, goesOn: false };
  } catch (error) {
    // The holder must not stay behind, so it is ended before the part that may fail.
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

/** Route and capsule. Undefined: the task was refused, or stays in the queue. */
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
    await assertHeld(spec.agent, route.lane);
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

/** A session's first task takes the session's title, unless it has one of its own. */
function askedOf({ state, secrets }: Session, { title, agent }: TaskSpec): string {
  const ofSession = state.task === null ? state.title : null;
  return shortened(title ?? ofSession ?? askedIn(agent), ASKED_LENGTH, secrets);
}

/** Continues a task that a crash or a pause cut off. Undefined: its files can't be restored. */
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

/** park-2: false if what it was to be parked for is decided. */
async function park(task: Task, { reason, until, detail, requests }: Parked): Promise<boolean> {
  const { session } = task.room;
  const isKept = session.state.task?.snapshot?.turn === lastTurnOf(session.state);
  // As at the end of a task: if the last turn reached its checkpoint, nothing has been written since.
  if (!task.last.current || !isKept) {
    await task.network.close();
    await task.endProcesses();
    await task.checkpoint();
  }
  await task.rest();
  const of = { task: task.number, reason };
  const more = present({
    until,
    detail: detail?.slice(0, DETAIL_LENGTH),
    requests: requests && [...requests],
  });
  try {
    await session.append("task_parked", { ...of, ...more });
    return true;
  } catch (error) {
    if (isHoldfastError(error, "approval_not_found")) return false;
    throw error;
  }
}

/** Without its variables the task is not started again: the reason is recorded, and its work is saved. */
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

/** Verify and persist. A task that is paused while its checks run goes on with the checks. */
async function finish(
  { stop }: TaskRun,
  task: Task,
  outcome: AskedOutcome,
  hasActed: boolean,
): Promise<void> {
  const { session } = task.room;
  const of = { task: task.number };
  const told: Promise<unknown>[] = [];
  // Recorded in one batch with the next record.
  const tell = (telling: Promise<unknown>) => {
    telling.catch(() => {});
    told.push(telling);
  };
  if (hasActed) tell(session.append("stage_ended", { ...of, stage: "act", outcome }));
  const onPersist = () => tell(session.append("stage_started", { ...of, stage: "persist" }));
  // If there is a checkpoint from after the agent's last process, no second one is needed.
  const at = hasActed ? task.last.current : undefined;
  const end = await endTask(task, outcome, { at, stop, onPersist });
  if (!end && stop.reason === "interrupt") await endTask(task, "cancelled", { onPersist });
  else if (!end) await task.rest();
  await Promise.all(told);
}
