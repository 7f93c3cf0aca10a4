/**
 * Owns the way of a task into a session: into its inbox, and then a process that takes it from there, or a place in
 * the line. Whoever is killed in between has lost nothing but time: what lies in an inbox is found.
 */
import { closeSync, mkdirSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Budget,
  HoldfastError,
  isHoldfastError,
  parseSessionId,
  type SessionId,
  type TaskSpec,
  type Values,
} from "../contract/index.ts";
import {
  type FoundSession,
  type Home,
  type NewSession,
  openSession,
  readProcessRecord,
  resumeSession,
  sessionDirOf,
} from "../home/index.ts";
import { CutOutput, lastWords, logDir, spoolPath } from "../host/index.ts";
import { probeOwner } from "../journal/index.ts";
import { enterLine, type PlaceWish, readPlace, withLine } from "../line/index.ts";
import { idOf } from "../mail/index.ts";
import {
  inspectSession,
  removeEnvironment,
  type SessionState,
  working,
  writeEnvironment,
} from "../session/index.ts";
import { deadline, isAlive, present } from "../util/index.ts";
import { inboxOf, put, ringSession, stamp } from "./post.ts";
import { startWaiting } from "./starting.ts";
import { cancelTask } from "./stopping.ts";
import type { Where } from "./where.ts";

export interface SubmitOptions {
  /** Where it is asked for. Without this, it starts where its spec says. */
  readonly where?: Where;
  /** Begin with the checkout as it is at this moment, and not with its HEAD. */
  readonly isDirty?: boolean;
  /** Higher is earlier, in the session's queue and in the line. */
  readonly priority?: number;
  /** Raised before the task begins. */
  readonly budget?: Budget;
  readonly maxSessions?: number;
  readonly maxMemoryBytes?: number;
  /** Variables for its environment. Their names are on record, their values in a file that goes when it is over. */
  readonly env?: Values;
}

export interface Submitted {
  readonly request: string;
  /** Of its output, from the first byte on. The caller closes it. */
  readonly outputFd: number;
}

const TAKE_IN_MS = 30_000;
const LOOK_MS = 5;
const RING_AGAIN_MS = 250;
const SETTLE_MS = 2000;

/** Resolves when the task is in the session's queue, or in the line with a reason to wait. */
export async function submitTask(
  home: Home,
  found: FoundSession,
  spec: TaskSpec,
  options: SubmitOptions = {},
): Promise<Submitted> {
  await makeReady(home, found, options.budget);
  const task = await putTask(home, found, spec, options);
  return startTask(home, found, wishOf(found.id, spec, options), task);
}

/** A session that is yet to be opened, and its first task. */
export interface Described {
  readonly session: NewSession;
  readonly spec: TaskSpec;
}

/** For a new session: its process is started first, and gets ready while the session is described and opened. */
export async function submitFirstTask(
  home: Home,
  describe: (id: SessionId) => Promise<Described>,
  definition: string,
  options: SubmitOptions = {},
): Promise<Submitted & { readonly found: FoundSession; readonly name: string | null }> {
  const id = parseSessionId(home.newId("sess"));
  const wish = wishOf(id, { definition }, options);
  await enterLine(home, wish);
  await startWaiting(home);
  try {
    const { session, spec } = await describe(id);
    const opened = await openSession(home, session, id);
    const found = { id, dir: sessionDirOf(home, id), user: opened.state.user };
    const task = await putTask(home, found, spec, options).finally(() => opened.release());
    return { ...(await startTask(home, found, wish, task)), found, name: opened.state.name };
  } catch (error) {
    // Without its place, a process that waits for the session ends; one that has the session keeps it.
    await withLine(home, async (line) => {
      if (!readProcessRecord(sessionDirOf(home, id))) line.remove(id);
    });
    throw error;
  }
}

/** Resolves when it is taken in. */
async function startTask(
  home: Home,
  found: FoundSession,
  wish: PlaceWish,
  task: Submitted,
): Promise<Submitted> {
  try {
    await startUntil(home, found, wish, () => isTakenIn(home, found, task.request));
    return task;
  } catch (error) {
    // What we say has failed must not run later.
    await cancelTask(home, found, task.request);
    closeSync(task.outputFd);
    throw error;
  }
}

async function putTask(
  home: Home,
  { dir, user }: FoundSession,
  spec: TaskSpec,
  { priority = 0, env = {} }: SubmitOptions,
): Promise<Submitted> {
  const request = home.newId("task");
  const { disk } = home.ports;
  // Before anybody can find the task.
  if (Object.keys(env).length > 0) await writeEnvironment(disk, dir, request, { values: env });
  const outputFd = openOutput(dir, request);
  try {
    await put(home, dir, { ...stamp(home, request, `user:${user}`), kind: "task", spec, priority });
    return { request, outputFd };
  } catch (error) {
    closeSync(outputFd);
    await removeEnvironment(disk, dir, request);
    throw error;
  }
}

async function isTakenIn(home: Home, { dir }: FoundSession, request: string): Promise<boolean> {
  return (await inboxOf(home, dir).waiting()).every((name) => idOf(name) !== request);
}

function wishOf(
  session: SessionId,
  { definition }: Pick<TaskSpec, "definition">,
  options: SubmitOptions,
): PlaceWish {
  const { priority = 0, maxSessions, maxMemoryBytes } = options;
  return { session, definition, priority, ...present({ maxSessions, maxMemoryBytes }) };
}

/** Before the session process opens it: what it writes can be read from here also when it has been removed. */
function openOutput(sessionDir: string, request: string): number {
  mkdirSync(logDir(sessionDir), { recursive: true, mode: 0o700 });
  return openSync(spoolPath(sessionDir, request), "a+", 0o600);
}

/** A session that is to go on must be one that can: what keeps it from that is said here, and not in a log. */
export async function makeReady(home: Home, found: FoundSession, budget?: Budget): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryToMakeReady(home, found, budget);
    } catch (error) {
      // Its next process took it just when we looked.
      if (!isHoldfastError(error, "session_owned") || budget || attempt === READY_ATTEMPTS) throw error;
      await sleep(RING_AGAIN_MS);
    }
  }
}

const READY_ATTEMPTS = 4;

async function tryToMakeReady(
  home: Home,
  { id, dir, user }: FoundSession,
  budget: Budget | undefined,
): Promise<void> {
  const { held, owner, isRunning } = await whenSettled(home, dir);
  if (isRunning && !budget) return;
  if (isRunning) throw new HoldfastError("session_owned", `session ${id} runs: pause it to raise its budget`);
  if (held)
    throw new HoldfastError("session_owned", `the session is open in process ${owner?.pid}`, {
      pid: owner?.pid ?? null,
    });
  const { state } = await inspectSession(dir);
  if (state.status === "open" && !budget) return;
  const cut = new CutOutput(dir);
  const session = await resumeSession(home, id, {
    user,
    outputOfCut: cut.read,
    ...present({ budget }),
  });
  await cut.settle(home, session).finally(() => session.release());
}

/** One process may just be giving the session to the next. */
async function whenSettled(home: Home, dir: string) {
  for (const patience = deadline(home.ports.clock, SETTLE_MS); ; await sleep(LOOK_MS)) {
    if (readProcessRecord(dir)) return { held: true, owner: undefined, isRunning: true };
    const probed = probeOwner(dir);
    if (!probed.held || patience.isPast) return { ...probed, isRunning: false };
  }
}

/** A process that has recorded the pause of its session is about to let go of it. */
export async function whenLeft(home: Home, dir: string): Promise<void> {
  for (const patience = deadline(home.ports.clock, SETTLE_MS); !patience.isPast; await sleep(LOOK_MS)) {
    if (!probeOwner(dir).held || (await inspectSession(dir)).state.status !== "paused") return;
  }
}

/** Starts what has to be started, as often as it takes: a process may be about to leave just when we come. */
export async function startUntil(
  home: Home,
  found: FoundSession,
  wish: PlaceWish,
  isDone: () => Promise<boolean>,
): Promise<void> {
  let started: number | undefined;
  let hasEntered = false;
  let ringAtMs = 0;
  const { clock } = home.ports;
  for (const patience = deadline(clock, TAKE_IN_MS); ; await sleep(LOOK_MS)) {
    const record = readProcessRecord(found.dir);
    const place = readPlace(home, found.id);
    if (record) {
      if (clock.monotonicMs() >= ringAtMs) await ringSession(found.dir);
      if (clock.monotonicMs() >= ringAtMs) ringAtMs = clock.monotonicMs() + RING_AGAIN_MS;
    } else if (!place || place.holder === null || !isAlive(place.holder)) {
      // It may have come and gone while we were not looking.
      if (await isDone()) return;
      // It was started, and is gone without a word: it would be so again.
      if (started !== undefined && place?.state !== "waiting") throw startFailed(home, found, started);
      // Somebody has paused it meanwhile: then it waits in the inbox until they go on.
      const isPaused = !isReady((await inspectSession(found.dir)).state);
      if (hasEntered && isPaused) return;
      // Its process went to rest just before we came.
      if (isPaused) await makeReady(home, found);
      hasEntered = true;
      await enterLine(home, wish);
      await startWaiting(home);
      const now = readPlace(home, found.id);
      if (now?.state === "waiting" && now.reason !== null) return;
      started = now?.holder?.pid;
    }
    if (await isDone()) return;
    if (patience.isPast) throw startFailed(home, found, started);
  }
}

const isReady = ({ status }: SessionState) => working.includes(status);

function startFailed(home: Home, { id }: FoundSession, pid: number | undefined): HoldfastError {
  const last = lastWords(home, id);
  return new HoldfastError(
    "start_failed",
    `the session process of ${id} could not be started${last ? `: ${last}` : ""}`,
    { pid: pid ?? null },
  );
}
