/**
 * Owns waiting for sessions: each until no task of it runs or waits, or until no process will go on with it.
 * A named task (`S/2`) is waited for alone. A task that is parked until a time is let go on then.
 */
import {
  type ErrorCode,
  errorCodes,
  exitStatus,
  isHoldfastError,
  type JournalRecord,
} from "../contract/index.ts";
import {
  type Dispatcher,
  goesOnByItself,
  isParkOver,
  parkedIn,
  parkedText,
  type SessionView,
} from "../dispatch/index.ts";
import type { ParkedState } from "../session/index.ts";
import { type Deadline, deadline } from "../util/index.ts";
import { type CommandEnding, statusOfOutcome, statusOfPark } from "./task-outcome.ts";

/** How it ended, with the status that its command line would have had. */
export interface Waited extends CommandEnding {
  readonly session: string;
  readonly task: number | null;
  /** The task's outcome; or what else became of it: `parked`, `halted`, `refused`, `waits`, `none`. */
  readonly outcome: string;
  /** Why it is parked. */
  readonly why?: string;
  readonly status: number;
}

export interface WaitOptions {
  readonly user?: string;
  /** Only this task. */
  readonly task?: number;
  readonly signal: AbortSignal;
}

const nothingRan = { exitCode: null, signal: null };
/** One process may be handing the session to the next. For this long the next one is waited for. */
const NEXT_PROCESS_MS = 2000;
const ENDINGS: ReadonlySet<string> = new Set([
  "task_ended",
  "task_halted",
  "task_refused",
  "task_parked",
  "session_paused",
]);

/** Undefined: the signal came first. */
export async function waitFor(
  dispatcher: Dispatcher,
  id: string,
  { task, signal, ...scope }: WaitOptions,
): Promise<Waited | undefined> {
  const ears = await dispatcher.listen(id, scope);
  let refused: JournalRecord | undefined;
  let patience: Deadline | undefined;
  try {
    while (!signal.aborted) {
      const view = await dispatcher.show(id, scope);
      const { waiting } = await dispatcher.queue(id, scope);
      const isThere = dispatcher.processOf(id) !== undefined || dispatcher.placeOf(id) !== undefined;
      if (task !== undefined && isOver(view, task)) return endOf(dispatcher, view, task);
      const parked = parkedIn(view);
      if (!isThere && parked) {
        if (!goesOnByItself(view)) return parkedAs(view, parked);
        if (isParkOver(view, dispatcher.home.io.clock.nowMs())) await goOn(dispatcher, view);
        else await ears.next();
        continue;
      }
      const isAtRest = view.task?.outcome !== null && waiting.length === 0;
      if (isAtRest && !isThere) return refused ? refusedBy(id, refused) : lastOf(view);
      if (isThere || view.pid !== null) patience = undefined;
      else patience ??= deadline(dispatcher.home.io.clock, NEXT_PROCESS_MS);
      if (patience && (patience.isPast || isLeftAlone(view)))
        return unfinished(dispatcher, view, waiting.length);
      if (patience) await ears.next();
      const following = { ...scope, fromSeq: view.records + 1, request: null, signal };
      for await (const happening of dispatcher.follow(id, following)) {
        if (happening.kind !== "record") continue;
        const { type } = happening.record;
        if (type === "task_refused") refused = happening.record;
        if (type === "task_started") refused = undefined;
        if (ENDINGS.has(type)) break;
      }
    }
    return undefined;
  } finally {
    ears.close();
  }
}

const isOver = ({ task }: SessionView, wanted: number) =>
  task !== null && (task.number > wanted || task.outcome !== null);

function parkedAs({ id, task }: SessionView, parked: ParkedState): Waited {
  const status = statusOfPark(parked.reason);
  const why = parkedText(parked);
  return { session: id, task: task?.number ?? null, outcome: "parked", why, status, ...nothingRan };
}

async function goOn(dispatcher: Dispatcher, { id, user }: SessionView): Promise<void> {
  await dispatcher.resume(id, { user }).catch((error: unknown) => {
    // Another process that looked has already let it go on.
    if (!isHoldfastError(error, "session_owned")) throw error;
  });
}

/** It is not started again until a person does so. */
const isLeftAlone = ({ status, pausedFor, inbox }: SessionView) =>
  status !== "interrupted" && (inbox === 0 || !["idle", "released", null].includes(pausedFor));

function lastOf({ id, task }: SessionView): Waited {
  if (!task) return { session: id, task: null, outcome: "none", status: exitStatus.done, ...nothingRan };
  const { number, exitCode, signal } = task;
  const outcome = String(task.outcome);
  return { session: id, task: number, outcome, status: statusOfOutcome(outcome), exitCode, signal };
}

function refusedBy(session: string, { data }: JournalRecord): Waited {
  return { session, task: null, outcome: "refused", status: statusOfCode(data["code"]), ...nothingRan };
}

/** No process will go on with it. */
async function unfinished(dispatcher: Dispatcher, view: SessionView, waiting: number): Promise<Waited> {
  const { id, task, pausedFor } = view;
  if (task?.outcome === null) return endOf(dispatcher, view, task.number);
  const status = waiting > 0 ? (PAUSED[String(pausedFor)] ?? exitStatus.interrupted) : exitStatus.done;
  return { session: id, task: null, outcome: "waits", status, ...nothingRan };
}

const PAUSED: Readonly<Record<string, number>> = { budget: exitStatus.budget, quota: exitStatus.refused };

/** The end of one task, from the journal. */
async function endOf(
  dispatcher: Dispatcher,
  { id, user, task }: SessionView,
  wanted: number,
): Promise<Waited> {
  if (task?.number === wanted && task.outcome !== null)
    return { session: id, ...statusAndOutcome(task.outcome), task: wanted, ...endingIn({ ...task }) };
  let current = 0;
  let ending: CommandEnding = nothingRan;
  let outcome = "interrupted";
  let status: number = exitStatus.interrupted;
  for await (const { type, data } of dispatcher.holdfast.readJournal(id, { user })) {
    if (type === "task_started") current = Number(data["task"]);
    if (current !== wanted) continue;
    if (type === "process_ended") ending = endingIn(data);
    if (type === "task_ended") ({ outcome, status } = statusAndOutcome(String(data["outcome"])));
    if (type === "task_halted") [outcome, status] = ["halted", statusOfCode(data["code"])];
  }
  return { session: id, task: wanted, outcome, status, ...ending };
}

const statusAndOutcome = (outcome: string) => ({ outcome, status: statusOfOutcome(outcome) });

function endingIn({ exitCode, signal }: Readonly<Record<string, unknown>>): CommandEnding {
  return {
    exitCode: typeof exitCode === "number" ? exitCode : null,
    signal: typeof signal === "string" ? signal : null,
  };
}

function statusOfCode(code: unknown): number {
  const name = String(code);
  return Object.hasOwn(errorCodes, name) ? errorCodes[name as ErrorCode][0] : exitStatus.bug;
}
