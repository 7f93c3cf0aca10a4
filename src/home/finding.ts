/**
 * Owns which sessions a home has and who may see them: each session is visible to its own user only. A
 * damaged session is listed too.
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

/** For callers that need the list synchronously. */
export function listSessionIdsNow(home: Pick<Home, "dir">): SessionId[] {
  return readdirSync(sessionsDir(home.dir)).filter(isSessionId).sort();
}

export interface FoundSession {
  readonly id: SessionId;
  readonly dir: string;
  readonly user: string;
}

/** A session of another user gets the same answer as one that does not exist. */
export async function findSession(home: Home, idText: string, user = defaultUser()): Promise<FoundSession> {
  const id = parseSessionId(idText);
  const dir = sessionDirOf(home, id);
  const manifest = await readManifest(dir).catch(() => undefined);
  // A spoiled or missing manifest must not hide a session from its user: the journal names the user too.
  const owner =
    manifest?.user ?? (existsSync(journalDir(dir)) ? (await inspectSession(dir)).state.user : undefined);
  if (owner !== user) throw notFound(id);
  await assertPrivate(dir);
  return { id, dir, user };
}

/**
 * If damage hides the record that names the session, its id comes from the directory and its user from the
 * manifest.
 */
export async function inspectIn(home: Home, id: SessionId, from?: CachedFold): Promise<Inspected> {
  const dir = sessionDirOf(home, id);
  const inspected = await inspectSession(dir, from).catch(unreadable);
  const { state } = inspected;
  if (!inspected.damage && (state.seq === 0 || state.id === id)) return inspected;
  const manifest = await readManifest(dir).catch(() => undefined);
  // Without a manifest and a journal, there never was a session in this directory.
  if (!manifest && !existsSync(journalDir(dir))) return { ...inspected, damage: undefined };
  const reason = `the directory holds the journal of ${state.id}`;
  const damage = inspected.damage ?? { file: journalDir(IN_SESSION), offset: 0, seq: state.seq, reason };
  const user = manifest?.user ?? state.user;
  return { ...inspected, damage, state: { ...state, status: "damaged", id, user } };
}

/** One unreadable session must not hide the others: it is listed, with the reason. */
function unreadable(error: unknown): Inspected {
  if (!(error instanceof HoldfastError) && errorCode(error) === undefined) throw error;
  const reason = `it can't be read: ${error instanceof Error ? error.message : String(error)}`;
  const damage = { file: journalDir(IN_SESSION), offset: 0, seq: 0, reason };
  return { state: { ...emptyState, status: "damaged" }, position: JOURNAL_START, tornBytes: 0, damage };
}

export function notFound(id: string): HoldfastError {
  return new HoldfastError("session_not_found", `there is no session ${id}`, { session: id });
}
