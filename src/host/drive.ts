/**
 * Owns the driving of one queued task: its capsule, its command with everything that hangs on it while it runs, and
 * its end. Whatever becomes of it is on record: refused, halted or ended.
 */
import type { Writable } from "node:stream";
import { isHoldfastError, type TaskSpec, type Values } from "../contract/index.ts";
import { type Home, layBallast, sessionDirOf } from "../home/index.ts";
import { addPeak } from "../line/index.ts";
import { assertTerminal } from "../process/index.ts";
import { commandLine, shortened } from "../redaction/index.ts";
import type { Session } from "../session/index.ts";
import {
  bringFiles,
  keeperOf,
  locateDamage,
  outputRoom,
  requireValues,
  roomOf,
  Task,
  type TaskEnd,
  type TurnEnd,
  valuesFor,
} from "../task/index.ts";
import { isDiskFull, present } from "../util/index.ts";
import type { Feed } from "./feed.ts";
import { keepSpooled } from "./kept-output.ts";
import type { Shells } from "./shells.ts";
import { Spool } from "./spool.ts";
import { SpooledProgress } from "./spooled-progress.ts";
import type { TerminalSocket } from "./terminal-socket.ts";
import { Watch } from "./watch.ts";

/** What a running command is joined to. */
export interface Surroundings {
  readonly home: Home;
  readonly session: Session;
  readonly feed: Feed;
  readonly shells: Shells;
  /** The directory of the door, which is open from then on. */
  door(): Promise<string>;
  terminal(): Promise<TerminalSocket>;
  /** There is something new to see. */
  news(): void;
}

const ASKED_LENGTH = 200;

/** Why a turn was ended from outside. */
export type Stop = "interrupt" | "pause";

/** What is to be run, until it ends or is stopped. */
export interface Assignment {
  readonly request: string;
  readonly spec: TaskSpec;
  readonly stop: AbortSignal;
}

export interface Driven {
  /** It took more than its share: the session waits for a person. */
  readonly isOverQuota: boolean;
}

export { restFiles } from "../task/index.ts";

/** A task from the queue. */
export async function driveTask(around: Surroundings, { request, spec, stop }: Assignment): Promise<Driven> {
  const { home, session } = around;
  const spool = new Spool(sessionDirOf(home, session.id), request, () => session.secrets);
  const progress = new SpooledProgress(spool, around.news);
  let task: Task;
  try {
    await layBallast(home.dir);
    if (spec.input === "terminal") assertTerminal();
    if (spec.env?.length) requireValues(sessionDirOf(home, session.id), request, spec.env);
    task = await Task.start(await roomOf({ ...home, onProgress: progress.onProgress }, session), {
      request,
      sandbox: spec.sandbox,
      signal: stop,
      asked: askedOf(session, spec),
      ...present({ base: spec.base, snapshot: spec.snapshot, isFresh: spec.isFresh }),
      ...present({ cwd: spec.cwd, env: spec.env }),
      ...(spec.carried && { carried: carriedOf(spec.carried) }),
      ...(spec.home && { home: { commit: spec.home.snapshot ?? "", manifest: spec.home.manifest ?? "" } }),
      onSetup: (chunk) => {
        progress.end();
        spool.add("setup", chunk);
        around.news();
      },
    });
    progress.end();
  } catch (error) {
    const { code, message } = expected(await located(around, error));
    spool.remove();
    // It did not begin, and goes on waiting.
    if (stop.aborted && stop.reason === "pause") return { isOverQuota: false };
    // It was taken back just then.
    await session.settled();
    if (session.state.queue.every((one) => one.request !== request)) return { isOverQuota: false };
    await session.append("task_refused", { request, code, reason: message });
    return { isOverQuota: false };
  }
  return runToEnd(around, task, spool, { request, spec, stop });
}

/** A task that a crash or a pause cut off: started again if it knows how to go on, else its work is kept. */
export async function driveCutTask(
  around: Surroundings,
  { request, spec, stop }: Assignment,
): Promise<Driven> {
  const { home, session } = around;
  const spool = new Spool(sessionDirOf(home, session.id), request, () => session.secrets);
  const progress = new SpooledProgress(spool, around.news);
  const telling = { ...home, onProgress: progress.onProgress };
  try {
    await bringFiles(telling, session);
    const task = await Task.current(await roomOf(telling, session), { sandbox: spec.sandbox });
    progress.end();
    const isToRestart = spec.restart && (await hasValues(around, { request, spec }));
    if (isToRestart) return await runToEnd(around, task, spool, { request, spec, stop });
    await task.end("interrupted");
  } catch (error) {
    await halt(session, await located(around, error));
  }
  spool.remove();
  return { isOverQuota: false };
}

/** Without what it was promised it is not started again: that is said, and its work is kept. */
async function hasValues(
  { home, session }: Surroundings,
  { request, spec: { env = [] } }: Pick<Assignment, "request" | "spec">,
): Promise<boolean> {
  try {
    if (env.length > 0) requireValues(sessionDirOf(home, session.id), request, env);
    return true;
  } catch (error) {
    await halt(session, error);
    return false;
  }
}

async function runToEnd(
  around: Surroundings,
  task: Task,
  spool: Spool,
  { request, spec, stop }: Assignment,
): Promise<Driven> {
  const { home, session } = around;
  try {
    const values = await valuesFor(task.room, { request, base: task.base, ...present({ env: spec.env }) });
    spool.begin(await outputRoom(task.room, task));
    // However it ended: nothing else has all that it wrote.
    const { turn, isOverQuota } = await runCommand(around, task, spool, { spec, stop, values }).finally(
      () => {
        spool.end();
        return keepSpooled(home, session, spool.request, spool.left);
      },
    );
    const isToGoOn = turn.isInterrupted && stop.reason === "pause" && spec.restart;
    // When the session does, it is started again, on the files as they are.
    if (isToGoOn) await task.rest();
    else await task.end(outcomeOf(turn, stop), { at: turn.checkpoint });
    return { isOverQuota };
  } catch (error) {
    // First what must not be left behind, then what may fail.
    await task.capsule.detach().catch(() => {});
    await halt(session, await located(around, error));
    return { isOverQuota: false };
  } finally {
    spool.remove();
  }
}

async function runCommand(
  { home, session, feed, shells, door, terminal, news }: Surroundings,
  task: Task,
  spool: Spool,
  { spec, stop, values }: Pick<Assignment, "spec" | "stop"> & { readonly values: Values },
): Promise<{ turn: TurnEnd } & Driven> {
  // One that we hold on to: `AbortSignal.any` may be collected while it is waited for.
  const ended = new AbortController();
  const { signal } = ended;
  const onStop = () => ended.abort(stop.reason);
  stop.addEventListener("abort", onStop, { once: true });
  if (stop.aborted) onStop();
  const quota = await task.quota();
  const screen = spec.input === "terminal" ? await terminal() : undefined;
  let watch: Watch | undefined;
  let exceeding: Promise<unknown> | undefined;
  const onStart = (pid: number, input: Writable | null) => {
    watch = new Watch(pid, [task.room.sessionDir], quota, (exceeded) => {
      // First it is stopped: the record of it may need the space that it takes.
      ended.abort();
      exceeding = session.append("quota_reached", exceeded);
      exceeding.catch(() => {});
    });
    screen?.connect(pid, input);
    if (spec.input === "messages" && input) feed.open(input);
    shells.begin(async (command, options) =>
      task.runBeside(command, { ...options, door: { dir: await door() } }),
    );
    news();
  };
  try {
    const turn = await task.runTurn(spec.command, {
      signal,
      door: { dir: await door() },
      cwd: spec.cwd,
      hasInput: spec.input !== "nothing",
      hasTerminal: screen !== undefined,
      values,
      onStart,
      onEnd: () => shells.end(),
      onOutput: (chunk, stream) => {
        spool.add(stream, chunk);
        screen?.show(chunk);
        news();
      },
    });
    await exceeding;
    return { turn, isOverQuota: exceeding !== undefined };
  } finally {
    stop.removeEventListener("abort", onStop);
    await shells.end();
    const peakBytes = watch?.end() ?? 0;
    await screen?.close();
    // A guess for the next time: without it, another one is made.
    if (peakBytes > 0) await addPeak(home, spec.definition, peakBytes).catch(() => {});
    await feed.close();
  }
}

/** A session's title is what its first task is about. */
function askedOf({ state, secrets }: Session, { title, command }: TaskSpec): string {
  const ofSession = state.task === null ? state.title : null;
  return shortened(title ?? ofSession ?? commandLine(command), ASKED_LENGTH, secrets);
}

function carriedOf({ from, tree, hasUnpublished = false }: NonNullable<TaskSpec["carried"]>) {
  return { from: from ?? null, tree, hasUnpublished };
}

function outcomeOf(turn: TurnEnd, stop: AbortSignal): TaskEnd["outcome"] {
  if (!turn.isInterrupted) return turn.exitCode === 0 ? "done" : "failed";
  if (!stop.aborted) return "failed";
  return stop.reason === "interrupt" ? "cancelled" : "interrupted";
}

/** What a task left can't be kept as it should: said, and left as it is. */
async function halt(session: Session, error: unknown): Promise<void> {
  const { code, message } = expected(error);
  const task = session.state.task?.number;
  if (task !== undefined) await session.append("task_halted", { task, code, reason: message });
}

/** Where a damaged snapshot was the reason, that is what is said. */
async function located({ home, session }: Surroundings, error: unknown): Promise<unknown> {
  return (await locateDamage(home, keeperOf(home, session), error)) ?? error;
}

/** What can be said of a failure. One that leaves nothing to record with ends the session process. */
function expected(error: unknown): { readonly code: string; readonly message: string } {
  if (isDiskFull(error)) return { code: "disk_full", message: "the disk is full" };
  if (!isHoldfastError(error))
    return { code: "bug", message: error instanceof Error ? error.message : String(error) };
  if (FATAL.includes(error.code)) throw error;
  return error;
}

/** Nothing can be recorded any more. */
const FATAL: readonly string[] = ["append_failed", "session_taken_over", "session_released"];
