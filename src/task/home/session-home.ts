/**
 * Owns the HOME of a session's processes. What an agent stores there, its conversation and its settings, is
 * there for the next task and is part of every checkpoint. A task without a sandbox has the user's own HOME,
 * which is never looked at.
 *
 * checkpoint-1 A checkpoint has files and HOME of the same moment, and no credential.
 */
import { existsSync, renameSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { openStore, restoreRoot, takeBack } from "../../capsule/index.ts";
import type { HomeState, Session } from "../../session/index.ts";
import { sessionHomeDir, tasksDir } from "../../util/index.ts";
import { taskNumbersIn } from "../files/task-dirs.ts";
import { type CheckpointLimits, currentLimits, type Room } from "../room/room.ts";
import { isLeftInHome } from "./home-files.ts";
import { homeSnapshot } from "./homes.ts";
import type { Root } from "./roots.ts";

/**
 * An agent keeps few files there. An agent that makes very many must not prevent the rest from being saved.
 */
const MAX_ENTRIES = 100_000;

export async function makeSessionHome(sessionDir: string): Promise<string> {
  const dir = sessionHomeDir(sessionDir);
  if (!existsSync(dir)) await adoptTaskHome(sessionDir, dir);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  return dir;
}

/** An earlier version had a HOME for each task. The last one becomes the session's. */
async function adoptTaskHome(sessionDir: string, dir: string): Promise<void> {
  const tasks = tasksDir(sessionDir);
  const last = (await taskNumbersIn(sessionDir))
    .sort((a, b) => b - a)
    .find((number) => existsSync(join(tasks, String(number), "home")));
  if (last !== undefined) renameSync(join(tasks, String(last), "home"), dir);
}

/** HOME as a root of a checkpoint; undefined while there is none. */
export async function homeRoot(
  { session, sessionDir }: Room,
  { maxHomeBytes, homeExclude }: CheckpointLimits,
): Promise<Root | undefined> {
  const dir = sessionHomeDir(sessionDir);
  if (!existsSync(dir)) return undefined;
  const last = session.state.home;
  return {
    name: "home",
    dir,
    maxBytes: maxHomeBytes,
    maxEntries: MAX_ENTRIES,
    isLeft: isLeftInHome(homeExclude),
    before: last ? await homeSnapshot(sessionDir, last) : undefined,
  };
}

/** Restores HOME from a snapshot. Credentials, and files that can be fetched again, stay as they are. */
export async function restoreHome(room: Room, home: HomeState): Promise<void> {
  const { sessionDir, repo, io } = room;
  const { homeExclude } = await currentLimits(room);
  const store = await openStore(repo, io.disk);
  const named = await homeSnapshot(sessionDir, home);
  const dir = await makeSessionHome(sessionDir);
  takeBack(dir);
  await restoreRoot(store, dir, named, isLeftInHome(homeExclude), io.onProgress);
}

/**
 * A fork and an import have no HOME at first. A session's own is missing only if it was deleted from outside.
 */
export function lacksHome({ state }: Pick<Session, "state">, sessionDir: string): boolean {
  return state.home !== null && !existsSync(sessionHomeDir(sessionDir));
}

/** Restores HOME when it is missing, or when a rewind undid the turns that it belongs to. */
export async function bringHome(room: Room): Promise<void> {
  const { session, sessionDir } = room;
  const { home, task } = session.state;
  if (home && (task?.capsule === "rewound" || lacksHome(session, sessionDir))) await restoreHome(room, home);
}
