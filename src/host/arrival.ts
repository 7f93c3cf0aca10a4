/**
 * Owns how a session process gets its session.
 */
import { isHoldfastError, type SessionId } from "../contract/index.ts";
import { type Home, notFound, sessionDirOf, takeUpSession } from "../home/index.ts";
import { holdPlace } from "../line/index.ts";
import { Maildir } from "../mail/index.ts";
import { readManifest, type Session } from "../session/index.ts";
import { deadline, ownerPath, present, WatchedFiles } from "../util/index.ts";
import { CutOutput } from "./cut-output.ts";
import type { StartOptions } from "./handover.ts";
import { settleIn } from "./start.ts";

/** Becomes its owner, with everything that a process has of its own. */
export async function arrive(home: Home, id: SessionId, { by }: StartOptions): Promise<Session> {
  const sessionDir = sessionDirOf(home, id);
  const manifest = await readManifest(sessionDir);
  if (!manifest) throw notFound(id);
  const cut = new CutOutput(sessionDir);
  const session = await ownWhenLeft(home, sessionDir, () =>
    takeUpSession(home, id, { user: manifest.user, outputOfCut: cut.read, ...present({ by }) }),
  );
  await cut.settle(home, session);
  settleIn(home, id);
  await holdPlace(home, id);
  return session;
}

export const mailIn = (home: Home, id: SessionId, dirIn: (sessionDir: string) => string) =>
  new Maildir(home.io.disk, dirIn(sessionDirOf(home, id)));

/**
 * Waits until the owner has let go. That is the process before us, or a command line that makes the session
 * ready for us. Neither can answer us: a command line has no bell, a process that is leaving has taken its
 * bell down, and a killed one reports nothing. So the file that goes with the owner is watched, and the lock
 * decides.
 */
async function ownWhenLeft(home: Home, sessionDir: string, own: () => Promise<Session>): Promise<Session> {
  const patience = deadline(home.io.clock, WAIT_MS);
  let owner: WatchedFiles | undefined;
  try {
    for (;;) {
      try {
        return await own();
      } catch (error) {
        if (!isHoldfastError(error, "session_owned") || patience.isPast) throw error;
      }
      owner ??= new WatchedFiles([ownerPath(sessionDir)]);
      await owner.next(LOOK_MS);
    }
  } finally {
    owner?.close();
  }
}

const WAIT_MS = 10_000;
/** An owner that is killed changes no file, so we also look now and then. */
const LOOK_MS = 250;
