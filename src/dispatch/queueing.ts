/**
 * Owns the tasks that wait in one session: their order, short names for them that can be typed, and
 * cancelling one.
 */
import { HoldfastError, isHoldfastError, parseTaskSpec, type TaskSpec } from "../contract/index.ts";
import { type FoundSession, type Home, readProcessRecord } from "../home/index.ts";
import { CutOutput } from "../host/index.ts";
import { loadLongFields, probeOwner, readDurable } from "../journal/index.ts";
import { hasProcess, readPlace, withLine } from "../line/index.ts";
import { decodeEnvelope } from "../mail/index.ts";
import { askedIn, redactingValues, withoutSecrets } from "../redaction/index.ts";
import {
  drivenTask,
  inspectSession,
  KnownSecrets,
  removeEnvironment,
  Session,
  type SessionState,
  textIn,
  workDue,
} from "../session/index.ts";
import { cancelParked } from "../task/index.ts";
import { deadline } from "../util/index.ts";
import { Ears } from "./ears.ts";
import { parkedIn, parkedText } from "./parked-text.ts";
import { inboxOf } from "./post.ts";
import { whenLeft } from "./readiness.ts";
import { cancelTask } from "./stopping.ts";

export interface WaitingTask {
  readonly request: string;
  /** The end of the request's id: as much as tells it from the others of its session. */
  readonly short: string;
  readonly priority: number;
  readonly at: string;
  /** Its title, or its command, without secrets. */
  readonly asked: string;
  /** Null: nothing keeps it from beginning. */
  readonly why: string | null;
}

export interface Queue {
  /** The task that is under way, with or without a process. `parked`: why it stands still, if it does. */
  readonly current: {
    readonly task: number;
    readonly request: string;
    readonly short: string;
    readonly parked: string | null;
  } | null;
  readonly waiting: readonly WaitingTask[];
}

type Lying = Pick<WaitingTask, "request" | "priority" | "at" | "asked">;

/** Includes the tasks in the inbox: each is taken in after those of the same priority. */
export async function readQueue(home: Home, found: FoundSession): Promise<Queue> {
  // The inbox is read first: a task that is taken in meanwhile is found in both.
  const inInbox = await lyingIn(home, found);
  const { state } = await inspectSession(found.dir);
  const taken = await takenIn(found, state);
  const known = new Set([...taken.map(({ request }) => request), ...state.arrived]);
  const waiting = [...taken, ...inInbox.filter(({ request }) => !known.has(request))].sort(
    (a, b) => b.priority - a.priority,
  );
  const running = drivenTask(state);
  const shorten = shortener([...waiting.map(({ request }) => request), running?.request ?? ""]);
  const current = running
    ? {
        task: running.number,
        request: running.request,
        short: shorten(running.request),
        parked: running.parked && parkedText(running.parked),
      }
    : null;
  const firstWhy = whyItWaits(home, found, state);
  const secrets = new KnownSecrets(() => found.dir);
  const redact = redactingValues(home.io.redact, () => secrets.all());
  return {
    current,
    waiting: await Promise.all(
      waiting.map(async (one, index) => ({
        ...one,
        asked: await withoutSecrets(redact, one.asked),
        short: shorten(one.request),
        why: index === 0 ? firstWhy : `after ${shorten(waiting[index - 1]?.request ?? "")}`,
      })),
    ),
  };
}

async function lyingIn(home: Home, { dir }: FoundSession): Promise<Lying[]> {
  const inbox = inboxOf(home, dir);
  const lying: Lying[] = [];
  for (const name of await inbox.waiting()) {
    const bytes = await inbox.read(name);
    const envelope = bytes ? decodeEnvelope(bytes) : undefined;
    if (envelope?.kind !== "task") continue;
    const { id: request, priority, at, spec } = envelope;
    lying.push({ request, priority, at, asked: titleOf(spec) });
  }
  return lying;
}

async function takenIn({ dir }: FoundSession, { queue }: SessionState): Promise<Lying[]> {
  if (queue.length === 0) return [];
  const records = new Map<string, Lying>();
  const wanted = new Map(queue.map(({ request, priority }) => [request, priority]));
  for await (const { record } of readDurable(dir)) {
    const request = textIn(record.data["request"]);
    const priority = wanted.get(request);
    if (record.type !== "task_queued" || priority === undefined) continue;
    const { spec } = await loadLongFields(dir, record);
    records.set(request, { request, priority, at: record.at, asked: titleOf(parseTaskSpec(spec)) });
  }
  return queue.flatMap(({ request }) => records.get(request) ?? []);
}

const titleOf = ({ title, agent }: TaskSpec) => title ?? askedIn(agent);

function whyItWaits(home: Home, { id, dir }: FoundSession, state: SessionState): string | null {
  const parked = parkedIn(state);
  if (parked) return `after task ${state.task?.number}, which is parked: ${parkedText(parked)}`;
  const place = readPlace(home, id);
  if (place?.state === "waiting" && place.reason !== null) return place.reason;
  if (readProcessRecord(dir)) {
    const running = drivenTask(state);
    return running && `task ${running.number} runs`;
  }
  if (place || probeOwner(dir).held) return null;
  if (state.status === "paused") return `the session is paused; to continue it: holdfast resume ${id}`;
  return `the session has no process; to continue it: holdfast resume ${id}`;
}

const SHORTEST = 6;

/** Ids begin with the time, so ids of one session begin alike and differ at the end. */
function shortener(requests: readonly string[]): (request: string) => string {
  return (request) => {
    const others = requests.filter((one) => one !== request);
    let length = SHORTEST;
    while (length < request.length && others.some((one) => one.endsWith(request.slice(-length)))) length += 1;
    return request.slice(-length);
  };
}

export interface Cancelled {
  readonly request: string;
  /** For a task that has begun: it was asked to end, and its work is kept. */
  readonly wasRunning: boolean;
  /** For a task that was parked: it has ended, and its work is kept. */
  readonly wasParked: boolean;
}

/** By its request, or the end of it. For a waiting task, resolves when it no longer waits. */
export async function cancelByName(home: Home, found: FoundSession, name: string): Promise<Cancelled> {
  const { current, waiting } = await readQueue(home, found);
  const requests = [...(current ? [current.request] : []), ...waiting.map(({ request }) => request)];
  const matching = requests.filter((one) => one === name || one.endsWith(name));
  if (name === "" || matching.length > 1)
    throw new HoldfastError(
      "ambiguous_id",
      `${matching.length} requests end in ${JSON.stringify(name)}: give more characters`,
    );
  const [request] = matching;
  if (request === undefined)
    throw new HoldfastError(
      "no_task",
      `session ${found.id} has no waiting or running task whose request ends in ${JSON.stringify(name)}`,
    );
  const wasParked = request === current?.request && (await endParked(home, found, request));
  if (wasParked) return { request, wasRunning: false, wasParked };
  const wasRunning = request === current?.request;
  if (wasRunning && !readProcessRecord(found.dir))
    throw new HoldfastError("not_running", `task ${current?.task} was cut off, and no process runs it now`);
  if (wasRunning) await cancelTask(home, found, request);
  else await takeBack(home, found, request);
  return { request, wasRunning, wasParked };
}

/** Resolves to whether the task was parked. If its process is about to end, this waits for it. */
async function endParked(home: Home, found: FoundSession, request: string): Promise<boolean> {
  if (!parkedIn((await inspectSession(found.dir)).state)) return false;
  await whenLeft(home, found);
  const { id, dir: sessionDir } = found;
  const session = await Session.own({ sessionDir, id, io: home.io });
  try {
    const wasParked = parkedIn(session.state) !== null;
    await cancelParked(home, session);
    await inboxOf(home, sessionDir).empty(request);
    await removeEnvironment(home.io.disk, sessionDir, request);
    return wasParked;
  } finally {
    await session.release();
  }
}

async function takeBack(home: Home, found: FoundSession, request: string): Promise<void> {
  if (await refuseAsOwner(home, found, request)) return;
  await cancelTask(home, found, request);
  const ears = new Ears(home, found);
  try {
    for (const patience = deadline(home.io.clock, TAKE_BACK_MS); ; await ears.next()) {
      const { waiting } = await readQueue(home, found);
      if (waiting.every((one) => one.request !== request)) return;
      // Its process ended before it looked.
      if (await refuseAsOwner(home, found, request)) return;
      if (patience.isPast)
        throw new HoldfastError(
          "process_silent",
          `the process of session ${found.id} did not cancel the task`,
        );
    }
  } finally {
    ears.close();
  }
}

/** If no process has the session, no other process would record it. Resolves to whether that was so. */
function refuseAsOwner(home: Home, found: FoundSession, request: string): Promise<boolean> {
  // While the lock of the line is held, no session process is started.
  return withLine(home, async (line) => {
    const { state } = await inspectSession(found.dir);
    const isTakenIn = state.queue.some((one) => one.request === request);
    if (!isTakenIn || readProcessRecord(found.dir) || hasProcess(line.get(found.id))) return false;
    const after = await recordRefusal(home, found, request);
    if (!after) return false;
    const isMore = workDue(after).kind !== "nothing";
    if (!isMore && (await lyingIn(home, found)).length === 0) line.remove(found.id);
    return true;
  });
}

async function recordRefusal(
  home: Home,
  { id, dir }: FoundSession,
  request: string,
): Promise<SessionState | undefined> {
  try {
    const outputOfCut = new CutOutput(dir).read;
    const session = await Session.own({ sessionDir: dir, id, io: home.io, outputOfCut });
    try {
      await session.append("task_refused", { request, code: "interrupted", reason: "it was cancelled" });
      await inboxOf(home, dir).empty(request);
      await removeEnvironment(home.io.disk, dir, request);
      return session.state;
    } finally {
      await session.release();
    }
  } catch (error) {
    // A process has just taken the session, and cancels the task itself.
    if (isHoldfastError(error, "session_owned")) return undefined;
    throw error;
  }
}

const TAKE_BACK_MS = 30_000;
