/**
 * Owns how a session process comes to have its session.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isHoldfastError, type SessionId } from "../contract/index.ts";
import { type Home, notFound, resumeSession, sessionDirOf } from "../home/index.ts";
import { holdPlace, readPlace } from "../line/index.ts";
import { Maildir } from "../mail/index.ts";
import { readManifest, type Session } from "../session/index.ts";
import { deadline } from "../util/index.ts";
import { CutOutput } from "./cut-output.ts";
import { type StartOptions, settleIn } from "./start.ts";

/** As its owner, with everything that a process has of its own. */
export async function arrive(home: Home, id: SessionId, { by }: StartOptions): Promise<Session> {
  const user = await whenThere(home, id);
  const cut = new CutOutput(sessionDirOf(home, id));
  const session = await whenFree(home, () =>
    resumeSession(home, id, {
      user,
      isHandedOver: true,
      // Whoever starts us has made it ready; one that was paused while we waited for it is to stay so.
      onlyIfWorking: true,
      outputOfCut: cut.read,
      ...(by !== undefined && { by }),
    }),
  );
  await cut.settle(home, session);
  settleIn(home, id);
  await holdPlace(home, id);
  return session;
}

export const mailIn = (home: Home, id: SessionId, name: "inbox" | "outbox") =>
  new Maildir(home.ports.disk, join(sessionDirOf(home, id), name));

/** Whose session it is. It may be on its way: then our place in the line is there before it. */
async function whenThere(home: Home, id: SessionId): Promise<string> {
  for (const patience = deadline(home.ports.clock, WAIT_MS); ; await sleep(LOOK_MS)) {
    const manifest = await readManifest(sessionDirOf(home, id));
    if (manifest) return manifest.user;
    if (!readPlace(home, id) || patience.isPast) throw notFound(id);
  }
}

/** Whoever opened it lets go of it soon. */
async function whenFree(home: Home, own: () => Promise<Session>): Promise<Session> {
  for (const patience = deadline(home.ports.clock, WAIT_MS); ; await sleep(LOOK_MS)) {
    try {
      return await own();
    } catch (error) {
      if (!isHoldfastError(error, "session_owned") || patience.isPast) throw error;
    }
  }
}

const WAIT_MS = 10_000;
const LOOK_MS = 2;
