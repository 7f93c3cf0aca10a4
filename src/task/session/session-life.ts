/**
 * Owns the parts of a session's life in which its files follow: they are restored when it is resumed, and
 * saved in a checkpoint before it is paused or closed.
 */
import { HoldfastError } from "../../contract/index.ts";
import { findSession, type Home, type ResumeOptions, resumeSession } from "../../home/index.ts";
import { nextStatus, Session } from "../../session/index.ts";
import { cancelParked } from "./parked.ts";
import { bringFiles, restFiles } from "./tasks.ts";

export interface WithFiles {
  /** Whether its files are restored too. Default: true. */
  readonly files?: boolean;
}

export async function resumeWithFiles(
  home: Home,
  id: string,
  { files = true, ...options }: ResumeOptions & WithFiles = {},
): Promise<Session> {
  const session = await resumeSession(home, id, options);
  try {
    if (files) await bringFiles(home, session);
    return session;
  } catch (error) {
    await session.release();
    throw error;
  }
}

/** Pauses or closes a session that no process has open. */
export async function settleSession(
  home: Home,
  idText: string,
  to: "session_paused" | "session_closed",
  user?: string,
) {
  const { id, dir } = await findSession(home, idText, user);
  const session = await Session.own({
    sessionDir: dir,
    id,
    io: home.io,
    admit: (state) => {
      if (nextStatus(state.status, to) === undefined) {
        const what = to === "session_paused" ? "paused" : "closed";
        const message = `the session is ${state.status} and can't be ${what}`;
        throw new HoldfastError("illegal_transition", message, { status: state.status });
      }
    },
  });
  try {
    await restFiles(home, session);
    if (to === "session_closed") await cancelParked(home, session);
    await (to === "session_paused" ? session.pause() : session.close());
  } finally {
    await session.release();
  }
  return session.state;
}
