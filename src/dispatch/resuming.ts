/**
 * Owns how a session goes on: it is made ready, and gets a process or a place in the line if there is work
 * for one.
 */
import { parseTaskSpec, type TaskSpec } from "../contract/index.ts";
import { type FoundSession, type Home, type ResumeOptions, readProcessRecord } from "../home/index.ts";
import { CutOutput } from "../host/index.ts";
import { probeOwner } from "../journal/index.ts";
import type { LocalHome } from "../library/index.ts";
import { enterLine, readPlace } from "../line/index.ts";
import {
  findLastRecord,
  inspectSession,
  type Session,
  type SessionState,
  workDue,
} from "../session/index.ts";
import { parkedIn } from "./parked-text.ts";
import { firstTaskIn, inboxOf } from "./post.ts";
import { whenLeft } from "./readiness.ts";
import { startUntilOwned } from "./start-until.ts";

export interface Resumed {
  readonly state: SessionState;
  readonly recovery: Session["recovery"];
  /**
   * `there`: a process already had it. `in line`: its process is started when there is room. `none`: there is
   * nothing to do.
   */
  readonly process: "started" | "there" | "in line" | "none";
}

export interface EnterOptions {
  /** The process that saw that it had crashed, if this was not asked for by a person. */
  readonly by?: string;
  readonly definition?: string;
}

/** Done as the session's owner: its task goes on, if it is parked. */
export async function unpark(session: Session, by: string): Promise<void> {
  const { task } = session.state;
  if (task && parkedIn(session.state)) await session.append("task_unparked", { task: task.number, by });
}

/**
 * Makes a session ready, and starts its process if there is something to do. A session that already runs goes
 * on.
 */
export async function resumeProcess(
  home: Home,
  holdfast: LocalHome,
  found: FoundSession,
  options: ResumeOptions,
): Promise<Resumed> {
  if (!options.takeOver) await whenLeft(home, found);
  // A process that is being killed may still have its pid, but no longer its session.
  const isThere = readProcessRecord(found.dir) && probeOwner(found.dir).held;
  if (isThere && !options.takeOver && !options.budget) {
    const { state } = await inspectSession(found.dir);
    return { state, process: "there", recovery: { tornBytes: 0, brokenFile: undefined } };
  }
  const cut = new CutOutput(found.dir);
  const session = await holdfast.resumeSession(found.id, { outputOfCut: cut.read, ...options });
  try {
    await cut.settle(home, session);
    await unpark(session, options.by ?? `user:${found.user}`);
  } finally {
    await session.release();
  }
  const { state, recovery, position } = session;
  const spec = await nextSpec(home, found, state);
  if (!spec) return { state, recovery, process: "none" };
  const wish = { session: found.id, definition: spec.definition, priority: 0 };
  await startUntilOwned(home, found, wish, position);
  const isInLine = readPlace(home, found.id)?.state === "waiting";
  return { state, recovery, process: isInLine ? "in line" : "started" };
}

/** Puts a session in the line, for what it has to do. */
export async function enterForWork(home: Home, found: FoundSession, options: EnterOptions): Promise<void> {
  const { state } = await inspectSession(found.dir);
  const definition = options.definition ?? (await nextSpec(home, found, state))?.definition ?? "unknown";
  await enterLine(home, {
    session: found.id,
    definition,
    priority: state.queue[0]?.priority ?? 0,
    by: options.by ?? null,
  });
}

/** Whether a task waits in its queue or its inbox, or was cut off. */
async function nextSpec(home: Home, found: FoundSession, state: SessionState): Promise<TaskSpec | undefined> {
  const due = workDue(state);
  // A task that can only be ended needs no memory; the task after it does.
  const request = due.kind === "end" ? state.queue[0]?.request : due.request;
  return request ? specOf(found, request) : firstTaskIn(inboxOf(home, found.dir));
}

/** The spec of a task that the session has taken in. */
export async function specOf({ dir }: FoundSession, request: string): Promise<TaskSpec | undefined> {
  const queued = await findLastRecord(
    dir,
    ({ type, data }) => type === "task_queued" && data["request"] === request,
  );
  return queued && parseTaskSpec(queued.data["spec"]);
}
