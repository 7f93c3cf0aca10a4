/**
 * Owns getting a process to do what a caller needs in a session: take in its task, or have the session. It
 * starts with the session's directory, and ends when that is done, or when the session waits in the line for
 * a reason.
 *
 * If a process can answer, it is asked, and its answer is awaited:
 *
 *   a process that we start   reports on its connection that it is done, or why not; or the connection ends.
 *   a process that is there   is rung, and answers that it has looked.
 *   one that another started  can't report to us; we wait for its record, or until it is gone.
 *   none                      the session enters the line, and if there is room we start a process.
 *
 * One answer is not always enough, so this goes round until the work is done:
 *
 * - A process that is leaving turns the ring away. What lies in the inbox is for the next process, which can
 *   be started only when this one has given up its place.
 * - A process that has looked may have had no room for the task, and takes it in later.
 * - A process may be killed before it answers; its place then goes back to the line.
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

/** `started`: the session's process, if it was started before the session was opened. */
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
  // A process that is killed in between has recorded the task, and leaves its file for the next one to move
  // away.
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
  /** The word that a process which was started here reports when it is done. */
  readonly word: Word;
  /** Read from the session's directory, whichever caller started the process. */
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
        // It was started, and ended without a report. Another start would end the same way.
        if (pid !== undefined && place?.state !== "waiting") throw startFailed(home, found, pid, own);
        // The session was paused meanwhile: the task waits in the inbox until the session is resumed.
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
