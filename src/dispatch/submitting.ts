/**
 * Owns how a task gets into a session: into its inbox, and then to a process that takes it from there, or to
 * a place in the line. A caller that is killed in between loses only time, because the task in the inbox is
 * found later.
 */
import { closeSync, mkdirSync, openSync } from "node:fs";
import {
  type Budget,
  parseSessionId,
  type SessionId,
  type TaskSpec,
  telemetryIn,
  type Values,
} from "../contract/index.ts";
import {
  type FoundSession,
  type Home,
  type NewSession,
  openSession,
  readProcessRecord,
  sessionDirOf,
} from "../home/index.ts";
import { type StartedProcess, spoolPath } from "../host/index.ts";
import { enterLine, type PlaceWish, withLine } from "../line/index.ts";
import { claudeDir } from "../process/index.ts";
import { inspectSession, removeEnvironment, writeEnvironment } from "../session/index.ts";
import { logDir, present } from "../util/index.ts";
import { asksModels, bringKeysFor } from "./own-keys.ts";
import { put, stamp } from "./post.ts";
import { makeReady } from "./readiness.ts";
import { startUntilTakenIn } from "./start-until.ts";
import { startWaiting } from "./starting.ts";
import { cancelTask } from "./stopping.ts";
import type { Where } from "./where.ts";

export interface SubmitOptions {
  /** The directory in which the task is asked for. Without it, the task starts where its spec says. */
  readonly where?: Where;
  /** Begin with the checkout as it is at this moment, not with its HEAD. */
  readonly isDirty?: boolean;
  /** Higher is earlier, in the session's queue and in the line. */
  readonly priority?: number;
  /** The budget is raised before the task begins. */
  readonly budget?: Budget;
  readonly maxSessions?: number;
  readonly maxMemoryBytes?: number;
  /**
   * Variables for its environment. Their names are recorded. Their values are in a file that is removed when
   * the task is over.
   */
  readonly env?: Values;
}

export interface Submitted {
  readonly request: string;
  /** A descriptor of its output, open from the first byte on. The caller closes it. */
  readonly outputFd: number;
}

/** Resolves when the task is in the session's queue, or in the line with a reason to wait. */
export async function submitTask(
  home: Home,
  found: FoundSession,
  spec: TaskSpec,
  options: SubmitOptions = {},
): Promise<Submitted> {
  await makeReady(home, found, options.budget);
  await bringKeysFor(home, found.id, spec, (await inspectSession(found.dir)).state);
  const task = await putTask(home, found, spec, options);
  return startTask(home, found, wishOf(found.id, spec, options), task);
}

/** A session that is to be opened, and its first task. */
export interface Described {
  readonly session: NewSession;
  readonly spec: TaskSpec;
}

/**
 * For a new session: its process is started first, and gets ready while the session is described and opened.
 */
export async function submitFirstTask(
  home: Home,
  describe: (id: SessionId) => Promise<Described>,
  definition: string,
  options: SubmitOptions = {},
): Promise<Submitted & { readonly found: FoundSession; readonly name: string | null }> {
  const id = parseSessionId(home.newId("sess"));
  const wish = wishOf(id, { definition }, options);
  await enterLine(home, wish);
  const started = await startWaiting(home, id);
  try {
    const { session, spec } = await describe(id);
    const opened = await openSession(home, session, id);
    const found = { id, dir: sessionDirOf(home, id), user: opened.state.user };
    await bringKeysFor(home, id, spec, opened.state);
    const task = await putTask(home, found, spec, options).finally(() => opened.release());
    started?.sayOpened();
    return { ...(await startTask(home, found, wish, task, started)), found, name: opened.state.name };
  } catch (error) {
    // A process that waits for a session which is never opened gets this, and ends.
    started?.close();
    await withLine(home, async (line) => {
      if (!readProcessRecord(sessionDirOf(home, id))) line.remove(id);
    });
    throw error;
  }
}

/** Resolves when the task is taken in. */
async function startTask(
  home: Home,
  found: FoundSession,
  wish: PlaceWish,
  task: Submitted,
  started?: StartedProcess,
): Promise<Submitted> {
  try {
    await startUntilTakenIn(home, found, wish, task.request, started);
    return task;
  } catch (error) {
    // A task that was reported as failed must not run later.
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
  const { disk } = home.io;
  // Before any process can find the task.
  const own = present({
    telemetry: telemetryIn(process.env),
    claudeDir: asksModels(spec) ? claudeDir() : undefined,
  });
  if (Object.keys({ ...own, ...env }).length > 0)
    await writeEnvironment(disk, dir, request, { values: env, ...own });
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

function wishOf(
  session: SessionId,
  { definition }: Pick<TaskSpec, "definition">,
  options: SubmitOptions,
): PlaceWish {
  const { priority = 0, maxSessions, maxMemoryBytes } = options;
  return { session, definition, priority, ...present({ maxSessions, maxMemoryBytes }) };
}

/**
 * Before the session process opens it: the output can then be read from here even after the file was removed.
 */
function openOutput(sessionDir: string, request: string): number {
  mkdirSync(logDir(sessionDir), { recursive: true, mode: 0o700 });
  return openSync(spoolPath(sessionDir, request), "a+", 0o600);
}
