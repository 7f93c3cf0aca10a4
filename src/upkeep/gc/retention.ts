/**
 * Owns retention: which sessions are archived or deleted because they are old.
 *
 * retention-1 Nothing of a session is deleted unless a person asks for it, with `rm` or with the setting
 *    `deleteArchivedDays`. The setting deletes only archived sessions of that age, and none that a person
 *    keeps.
 */
import { HoldfastError, type SessionId } from "../../contract/index.ts";
import { type Home, readSettings, sessionDirOf } from "../../home/index.ts";
import { inspectSession, type SessionState } from "../../session/index.ts";
import { present } from "../../util/index.ts";
import { archiveSession, finishArchiving, isPartlyCompressed } from "../archive.ts";
import { discardSession } from "../removal/discard.ts";
import type { Planned } from "./step.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

export interface Retention {
  /** A session that was closed this long ago is archived. */
  readonly archiveClosedDays: number;
  /** An archived session is deleted at this age. If it is not set, none is ever deleted. */
  readonly deleteArchivedDays?: number;
}

/** The retention in the user's settings. */
export async function readRetention(homeDir: string): Promise<Retention> {
  const { retention } = await readSettings(homeDir);
  const { archive_closed_days, delete_archived_days } = retention;
  return {
    archiveClosedDays: archive_closed_days,
    ...present({ deleteArchivedDays: delete_archived_days }),
  };
}

export async function planRetention(
  home: Home,
  state: SessionState,
  retention: Retention,
): Promise<Planned[]> {
  if (state.isKept) return [];
  const id = state.id as SessionId;
  const dir = sessionDirOf(home, id);
  const ageDays = (home.io.clock.nowMs() - Date.parse(state.updatedAt)) / DAY_MS;
  const since = `for ${Math.floor(ageDays)} days`;
  if (state.status === "closed" && ageDays >= retention.archiveClosedDays) {
    return [
      {
        action: "archive",
        what: id,
        why: `closed ${since}`,
        paths: [dir],
        run: async (onProgress) =>
          void (await archiveSession({ ...home, onProgress }, { id, dir, user: state.user })),
      },
    ];
  }
  if (state.status !== "archived") return [];
  if (retention.deleteArchivedDays !== undefined && ageDays >= retention.deleteArchivedDays) {
    return [
      {
        action: "delete",
        what: id,
        why: `archived ${since}`,
        paths: [dir],
        run: () => deleteSession(home, { id, dir }, state.seq),
      },
    ];
  }
  if (!(await isPartlyCompressed(dir))) return [];
  return [
    {
      action: "compress",
      what: id,
      why: "its archiving was interrupted",
      paths: [dir],
      run: (onProgress) => finishArchiving({ ...home, onProgress }, { id, dir, user: state.user }),
    },
  ];
}

/** retention-1: as its owner, and only if nothing has happened to it since it was found old enough. */
async function deleteSession(
  home: Home,
  session: { readonly id: SessionId; readonly dir: string },
  seq: number,
): Promise<void> {
  await discardSession(home, session, async () => {
    const { state, damage } = await inspectSession(session.dir);
    if (damage || state.status !== "archived" || state.isKept || state.seq !== seq)
      throw new HoldfastError(
        "illegal_transition",
        `the session is ${state.status} now, and was not deleted`,
        {
          status: state.status,
        },
      );
  });
}
