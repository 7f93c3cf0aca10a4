/**
 * Owns the list of what a kill left in a session's directory, and of sessions that were never completed. It
 * is cleared under the session's lock, so that no process is still writing it.
 */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { removeTree } from "../capsule/index.ts";
import type { SessionId } from "../contract/index.ts";
import { acquireOwner, probeOwner } from "../journal/index.ts";
import { idOf, Maildir } from "../mail/index.ts";
import {
  inspectSession,
  isTaskOver,
  oldEnvironments,
  removeOldEnvironments,
  type SessionState,
} from "../session/index.ts";
import { blobsDir, inboxDir, journalDir, type Leftover, TEMPORARY_PREFIX } from "../util/index.ts";
import { listSessionIds } from "./finding.ts";
import { type Home, sessionDirOf } from "./home.ts";

export async function sessionLeftovers(home: Home, state: SessionState): Promise<Leftover[]> {
  const id = state.id as SessionId;
  return [...(await halfWritten(home, id)), ...(await environments(home, id, state))];
}

/** Files whose writer was killed while writing them. */
async function halfWritten(home: Home, id: SessionId): Promise<Leftover[]> {
  const dir = sessionDirOf(home, id);
  const paths: string[] = [];
  for (const folder of [dir, journalDir(dir), blobsDir(dir)]) {
    if (!existsSync(folder)) continue;
    const names = (await readdir(folder)).filter((name) => name.startsWith(TEMPORARY_PREFIX));
    paths.push(...names.map((name) => join(folder, name)));
  }
  if (paths.length === 0) return [];
  const clear = () =>
    asOwner(dir, async () => {
      for (const path of paths) await home.io.disk.removeTree(path);
    });
  return [{ what: id, why: `${paths.length} half-written files`, isCache: false, paths, clear }];
}

/** Values for tasks that are over, or that were never sent. */
async function environments(home: Home, id: SessionId, state: SessionState): Promise<Leftover[]> {
  const dir = sessionDirOf(home, id);
  const inbox = new Maildir(home.io.disk, inboxDir(dir));
  const isNeeded = (waiting: readonly string[], now: SessionState) => (request: string) =>
    !isTaskOver(now, request) || waiting.some((name) => idOf(name) === request);
  const paths = oldEnvironments(dir, isNeeded(await inbox.waiting(), state));
  if (paths.length === 0 || probeOwner(dir).held) return [];
  const clear = () =>
    asOwner(dir, async () => {
      const { state: now } = await inspectSession(dir);
      await removeOldEnvironments(home.io.disk, dir, isNeeded(await inbox.waiting(), now));
    });
  return [{ what: id, why: "holds values of tasks that are over", isCache: false, paths, clear }];
}

async function asOwner(dir: string, work: () => Promise<void>): Promise<void> {
  const lock = await acquireOwner(dir);
  try {
    await work();
  } finally {
    lock.release();
  }
}

/**
 * Sessions whose opening was never acknowledged: they have no record and no blob. `born` are those that have
 * one.
 */
export async function unbornSessions(home: Home, born: ReadonlySet<string>): Promise<Leftover[]> {
  const found: Leftover[] = [];
  for (const id of await listSessionIds(home)) {
    const dir = sessionDirOf(home, id);
    if (born.has(id) || probeOwner(dir).held) continue;
    const isEmpty = await Promise.all(
      [journalDir(dir), blobsDir(dir)].map(
        async (path) => !existsSync(path) || (await readdir(path)).length === 0,
      ),
    );
    if (!isEmpty.every(Boolean)) continue;
    found.push({
      what: dir,
      why: "holds no record",
      isCache: false,
      paths: [dir],
      clear: () => removeTree(dir),
    });
  }
  return found;
}
