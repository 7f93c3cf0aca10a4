/**
 * Owns which sessions are in a home, and who may look at one: a session is there for its own user only. One that is
 * damaged is there, too.
 */
import { existsSync, readdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { HoldfastError, isSessionId, parseSessionId, type SessionId } from "../contract/index.ts";
import { JOURNAL_START } from "../journal/index.ts";
import {
  type CachedFold,
  emptyState,
  type Inspected,
  inspectSession,
  readManifest,
} from "../session/index.ts";
import { errorCode, IN_SESSION, journalDir, sessionsDir } from "../util/index.ts";
import { defaultUser, type Home, sessionDirOf } from "./home.ts";
import { assertPrivate } from "./private.ts";

export async function listSessionIds(home: Home): Promise<SessionId[]> {
  const names = await readdir(sessionsDir(home.dir));
  return names.filter(isSessionId).sort();
}

/** For those who can't wait. */
export function listSessionIdsNow(home: Pick<Home, "dir">): SessionId[] {
  return readdirSync(sessionsDir(home.dir)).filter(isSessionId).sort();
}

export interface FoundSession {
  readonly id: SessionId;
  readonly dir: string;
  readonly user: string;
}

/** Another user's session is as little there as one that never was. */
export async function findSession(home: Home, idText: string, user = defaultUser()): Promise<FoundSession> {
  const id = parseSessionId(idText);
  const dir = sessionDirOf(home, id);
  const manifest = await readManifest(dir).catch(() => undefined);
  // A spoiled or missing manifest hides nobody's session: the journal knows whose it is.
  const owner =
    manifest?.user ?? (existsSync(journalDir(dir)) ? (await inspectSession(dir)).state.user : undefined);
  if (owner !== user) throw notFound(id);
  await assertPrivate(dir);
  return { id, dir, user };
}

/** A damaged journal may not reach the record that names its session: the directory and the manifest do. */
export async function inspectIn(home: Home, id: SessionId, from?: CachedFold): Promise<Inspected> {
  const dir = sessionDirOf(home, id);
  const inspected = await inspectSession(dir, from).catch(unreadable);
  const { state } = inspected;
  if (!inspected.damage && (state.seq === 0 || state.id === id)) return inspected;
  const manifest = await readManifest(dir).catch(() => undefined);
  // Neither a manifest nor a journal: no session was ever here.
  if (!manifest && !existsSync(journalDir(dir))) return { ...inspected, damage: undefined };
  const reason = `the directory holds the journal of ${state.id}`;
  const damage = inspected.damage ?? { file: journalDir(IN_SESSION), offset: 0, seq: state.seq, reason };
  const user = manifest?.user ?? state.user;
  return { ...inspected, damage, state: { ...state, status: "damaged", id, user } };
}

/** One session that can't be read must not hide the others: it is shown, with the reason. */
function unreadable(error: unknown): Inspected {
  if (!(error instanceof HoldfastError) && errorCode(error) === undefined) throw error;
  const reason = `it can't be read: ${error instanceof Error ? error.message : String(error)}`;
  const damage = { file: journalDir(IN_SESSION), offset: 0, seq: 0, reason };
  return { state: { ...emptyState, status: "damaged" }, position: JOURNAL_START, tornBytes: 0, damage };
}

export function notFound(id: string): HoldfastError {
  return new HoldfastError("session_not_found", `there is no session ${id}`, { session: id });
}
