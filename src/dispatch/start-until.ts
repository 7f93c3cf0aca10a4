/**
 * Owns the way from a session's directory to a process that does what a caller needs: that takes in its task, or that
 * has the session. It ends when that is done, or when the session waits in the line for a reason.
 *
 * Whoever can answer is asked, and its answer is waited for:
 *
 *   a process that we start   says on its connection that it has done it, or why it can't; or the connection ends.
 *   a process that is there   is rung, and answers that it has looked.
 *   one that another started  has nothing to say to us: its record comes, or it is gone.
 *   none                      The session enters the line, and where there is room we start one.
 *
 * One answer is not always enough, so this goes round until it is done:
 *
 *   A process that leaves turns the ring away. What lies in the inbox is for the next process, which can be started only
 *   when this one has given up its place.
 *   A process that has looked may have had no room for the task, and takes it in when it has.
 *   A process may be killed before it answers; its place then goes back to the line.
 */
import { HoldfastError } from "../contract/index.ts";
import { type FoundSession, type Home, readProcessRecord } from "../home/index.ts";
import { lastWords, type StartedProcess, type Word } from "../host/index.ts";
import type { Position } from "../journal/index.ts";
import { enterLine, hasProcess, type PlaceWish, readPlace } from "../line/index.ts";
import { idOf } from "../mail/index.ts";
import { inspectSession, type SessionState, working } from "../session/index.ts";
import { deadline } from "../util/index.ts";
import { Ears } from "./ears.ts";
import { inboxOf, ringSession } from "./post.ts";
import { makeReady } from "./readiness.ts";
import { startWaiting } from "./starting.ts";

const MOST_MS = 30_000;

/** `started`: its process, if that was started before the session was opened. */
export async function startUntilTakenIn(
  home: Home,
  found: FoundSession,
  wish: PlaceWish,
  request: string,
  started?: StartedProcess,
): Promise<void> {
  const isDone = () => isTakenIn(home, found, request);
  await startUntil(home, found, wish, { word: "taken in", isDone }, started);
}

async function isTakenIn(home: Home, { dir }: FoundSession, request: string): Promise<boolean> {
  const isLying = (await inboxOf(home, dir).waiting()).some((name) => idOf(name) === request);
  // A process that is killed in between has it on record, and leaves its file for the next one to move away.
  return !isLying || (await inspectSession(dir)).state.arrived.includes(request);
}

/** `before`: where the journal ended. Every owner begins a segment of its own. */
export async function startUntilOwned(
  home: Home,
  found: FoundSession,
  wish: PlaceWish,
  before: Position,
): Promise<void> {
  const isDone = async () => (await inspectSession(found.dir)).position.segment > before.segment;
  await startUntil(home, found, wish, { word: "ready", isDone });
}

interface Need {
  /** What a process says that was started here, when it has done it. */
  readonly word: Word;
  /** By the session's directory, whoever started the process. */
  readonly isDone: () => Promise<boolean>;
}

async function startUntil(
  home: Home,
  found: FoundSession,
  wish: PlaceWish,
  { word, isDone }: Need,
  started?: StartedProcess,
): Promise<void> {
  const patience = deadline(home.io.clock, MOST_MS);
  const ears = new Ears(home, found);
  let own = started;
  let pid: number | undefined;
  let hasEntered = false;
  try {
    await own?.hear(word, patience);
    while (!(await isDone())) {
      if (patience.isPast) throw startFailed(home, found, pid, own);
      const place = readPlace(home, found.id);
      if (readProcessRecord(found.dir)) {
        await ringSession(found.dir);
        if (!(await isDone())) await ears.next();
      } else if (hasProcess(place)) {
        await ears.next();
      } else {
        // It may have come and gone while we were not looking.
        if (await isDone()) return;
        // It was started, and is gone without a word: it would be so again.
        if (pid !== undefined && place?.state !== "waiting") throw startFailed(home, found, pid, own);
        // Somebody has paused it meanwhile: then it waits in the inbox until they go on.
        const isPaused = !isReady((await inspectSession(found.dir)).state);
        if (hasEntered && isPaused) return;
        // Its process went to rest just before we came.
        if (isPaused) await makeReady(home, found);
        hasEntered = true;
        await enterLine(home, wish);
        own = await startWaiting(home, found.id);
        const now = readPlace(home, found.id);
        if (now?.state === "waiting" && now.reason !== null) return;
        pid = now?.sessionProcess?.pid;
        await own?.hear(word, patience);
      }
    }
  } finally {
    ears.close();
    own?.close();
  }
}

const isReady = ({ status }: SessionState) => working.includes(status);

function startFailed(
  home: Home,
  { id }: FoundSession,
  pid: number | undefined,
  started: StartedProcess | undefined,
): HoldfastError {
  const last = started?.whyNot ?? lastWords(home, id);
  return new HoldfastError(
    "start_failed",
    `the session process of ${id} could not be started${last ? `: ${last}` : ""}`,
    { pid: pid ?? null },
  );
}
