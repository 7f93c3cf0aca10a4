/**
 * Owns what is asked of a session process: to interrupt its turn, to pause and end, and to keep its session.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../contract/index.ts";
import { type FoundSession, type Home, type ProcessRecord, readProcessRecord } from "../home/index.ts";
import { hasProcess, readPlace, withLine } from "../line/index.ts";
import { idOf, whenBellGone } from "../mail/index.ts";
import { drivenTask, inspectSession, removeEnvironment } from "../session/index.ts";
import { deadline, isAlive, signalIfThere } from "../util/index.ts";
import { Ears } from "./ears.ts";
import { inboxOf, knockAtSession, put, ringSession, stamp } from "./post.ts";

/**
 * A session process ends a turn, keeps its files and records where they are in a moment. If it takes longer
 * than this, something is wrong.
 */
const GRACE_MS = 60_000;
const START_MS = 10_000;
const ASK_MS = 3000;
const TELL_MS = 2000;
const LAST_MOMENTS_MS = 20;

export interface StopOptions {
  /** Called once about a process that does not end in a moment. It is still waited for. */
  readonly onWait?: (waiting: { readonly session: string; readonly pid: number }) => void;
}

export async function interruptTurn(home: Home, found: FoundSession): Promise<void> {
  const record = readProcessRecord(found.dir);
  if (!record)
    throw new HoldfastError("not_running", `session ${found.id} has no process`, { session: found.id });
  const { state } = await inspectSession(found.dir);
  if (readPlace(home, found.id)?.state === "waiting")
    throw new HoldfastError(
      "not_running",
      `session ${found.id} waits in line and has no turn to interrupt: holdfast pause takes it out of the line`,
      {
        session: found.id,
      },
    );
  // An agent may hang before its first turn.
  if (!state.openTurn && !drivenTask(state) && state.queue.length === 0)
    throw new HoldfastError("not_running", `session ${found.id} has no open turn: it waits for a task`, {
      session: found.id,
    });
  await putAsked(home, found, record, "interrupt");
  await ringSession(found.dir);
}

/** Resolves when no session process has it any more, to whether one had it. */
export async function stopProcess(
  home: Home,
  found: FoundSession,
  { onWait }: StopOptions = {},
): Promise<boolean> {
  await withLine(home, async (line) => {
    // A session that waits in the line leaves it. Its tasks stay in its inbox.
    if (line.get(found.id)?.state === "waiting") line.remove(found.id);
  });
  const record = await whenStarted(home, found);
  if (!record) return false;
  const stop = new AbortController();
  // Connected before the process is asked, because its bell goes away before the process ends.
  const gone = whenGone(record, stop.signal);
  try {
    await putAsked(home, found, record, "pause");
    // The answer is the end of the process.
    await knockAtSession(found.dir);
    if (await isWithin(gone, TELL_MS)) return true;
    onWait?.({ session: found.id, pid: record.pid });
    if (await isWithin(gone, ASK_MS - TELL_MS)) return true;
    // A process that does not find the time to look into its inbox gets this signal all the same, and pauses,
    // too.
    signalIfThere(record.pid, "SIGTERM");
    if (await isWithin(gone, GRACE_MS - ASK_MS)) return true;
  } finally {
    stop.abort();
  }
  throw new HoldfastError("process_silent", `process ${record.pid} of session ${found.id} does not end`, {
    pid: record.pid,
  });
}

/** The last connection of the process ends with it. */
async function whenGone(record: ProcessRecord, signal: AbortSignal): Promise<void> {
  if (record.bell !== null) await whenBellGone(record.bell, signal);
  // Without a bell, or with one that was taken down before we connected, nothing reports the end of the
  // process, because it is not our child. Also, for a moment after its last connection has ended, it still
  // exists.
  while (isAlive(record) && !signal.aborted)
    await sleep(LAST_MOMENTS_MS, undefined, { signal }).catch(() => {});
}

async function isWithin(done: Promise<void>, timeoutMs: number): Promise<boolean> {
  const isOver = new AbortController();
  const late = sleep(timeoutMs, false, { signal: isOver.signal }).catch(() => false);
  try {
    return await Promise.race([done.then(() => true), late]);
  } finally {
    isOver.abort();
  }
}

/** Waits a moment for a process that was just started; undefined if none exists and none comes. */
async function whenStarted(home: Home, found: FoundSession): Promise<ProcessRecord | undefined> {
  const ears = new Ears(home, found);
  try {
    for (const patience = deadline(home.io.clock, START_MS); ; await ears.next()) {
      const record = readProcessRecord(found.dir);
      const place = readPlace(home, found.id);
      const isComing = place?.state === "granted" && hasProcess(place);
      if (record || !isComing || patience.isPast) return record;
    }
  } finally {
    ears.close();
  }
}

async function putAsked(
  home: Home,
  { user, dir }: FoundSession,
  { epoch }: ProcessRecord,
  kind: "interrupt" | "pause",
): Promise<void> {
  await put(home, dir, { ...stamp(home, home.newId("ask"), `user:${user}`), kind, epoch });
}

/** Resolves when the record is on disk. */
export async function askToKeep(home: Home, found: FoundSession, isKept: boolean): Promise<void> {
  const { id, user, dir } = found;
  await put(home, dir, { ...stamp(home, home.newId("ask"), `user:${user}`), kind: "keep", isKept });
  await ringSession(dir);
  const ears = new Ears(home, found);
  try {
    // A process that is leaving, or has no room for it now, leaves it to the next one, or for later.
    for (const patience = deadline(home.io.clock, START_MS); !patience.isPast; await ears.next())
      if ((await inspectSession(dir)).state.isKept === isKept) return;
  } finally {
    ears.close();
  }
  throw new HoldfastError(
    "process_silent",
    `the process of session ${id} did not confirm the request to keep it`,
  );
}

/**
 * Also if the session has no process yet: the envelope is then removed from the inbox as if it had never been
 * put there.
 */
export async function cancelTask(home: Home, found: FoundSession, request: string): Promise<void> {
  const isTakenBack = await withLine(home, async (line) => {
    if (hasProcess(line.get(found.id)) || readProcessRecord(found.dir)) return false;
    const inbox = inboxOf(home, found.dir);
    const waiting = await inbox.waiting();
    const name = waiting.find((one) => idOf(one) === request);
    if (name === undefined) return false;
    await inbox.done([name]);
    await removeEnvironment(home.io.disk, found.dir, request);
    // Its session keeps its place for its other tasks.
    const { state } = await inspectSession(found.dir);
    const isLast = !waiting.some((one) => one !== name && idOf(one).startsWith("task_"));
    if (isLast && state.queue.length === 0) line.remove(found.id);
    return true;
  });
  if (isTakenBack) return;
  const envelope = stamp(home, home.newId("ask"), `user:${found.user}`);
  await put(home, found.dir, { ...envelope, kind: "cancel", request });
  await ringSession(found.dir);
}
