/**
 * Owns the joining of the line to session processes: a session whose place is granted gets its process, and a caller
 * that needs the process waits until it has done what it is needed for.
 */
import { existsSync } from "node:fs";
import { HoldfastError, type SessionId } from "../contract/index.ts";
import { type FoundSession, type Home, readProcessRecord, sessionDirOf } from "../home/index.ts";
import { lastWords, type StartedProcess, startHost } from "../host/index.ts";
import { admitWaiting, enterLine, type PlaceWish, readPlace } from "../line/index.ts";
import { ownProgram } from "../process/index.ts";
import { inspectSession, type SessionState, working } from "../session/index.ts";
import { deadline, isAlive } from "../util/index.ts";
import { Ears } from "./ears.ts";
import { ringSession } from "./post.ts";
import { makeReady } from "./readiness.ts";

const TAKE_IN_MS = 30_000;

/**
 * Starts the processes for which there is room. Returns that of the wanted session, if it was started here; the session
 * may be opened after that. The others are not listened to: their submitters hear of them by their files and bells.
 */
export async function startWaiting(home: Home, wanted?: SessionId): Promise<StartedProcess | undefined> {
  let found: StartedProcess | undefined;
  await admitWaiting(
    home,
    async (session, options) => {
      const isUnopened = !existsSync(sessionDirOf(home, session));
      const started = await startHost(home, session, {
        ...options,
        dispatcher: ownProgram("dispatch"),
        ...(isUnopened && { isUnopened }),
      });
      if (session === wanted) found = started;
      else started.close();
      return started.pid;
    },
    wanted,
  );
  return found;
}

/**
 * Starts what has to be started, as often as it takes: a process may be about to leave just when we come. A process
 * that we started tells us how far it is. A process that is there answers when it is rung. A process that another
 * dispatcher started is there when its record is.
 */
export async function startUntil(
  home: Home,
  found: FoundSession,
  wish: PlaceWish,
  isDone: () => Promise<boolean>,
  started?: StartedProcess,
): Promise<void> {
  const patience = deadline(home.io.clock, TAKE_IN_MS);
  const ears = new Ears(home, found);
  let own = started;
  let pid: number | undefined;
  let hasEntered = false;
  try {
    for (;;) {
      const place = readPlace(home, found.id);
      const isComing = (own && !own.isOver) || (place?.sessionProcess && isAlive(place.sessionProcess));
      if (readProcessRecord(found.dir)) {
        // What it takes in when it comes need not be asked for.
        if (!own || own.isOver) await ringSession(found.dir);
      } else if (!isComing) {
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
      }
      if (await isDone()) return;
      if (patience.isPast) throw startFailed(home, found, pid, own);
      await (own && !own.isOver ? own.next(patience.leftMs) : ears.next());
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
