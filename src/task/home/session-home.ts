/**
 * Owns the HOME of a session's processes: what an agent keeps there, its conversation and its settings, is there for
 * the next task and is part of every checkpoint. A task without a sandbox has the user's own HOME, which is never
 * looked at.
 *
 * T3 A checkpoint's files and HOME are of the same moment; a credential is in none.
 */
import { existsSync, renameSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { openStore, restoreRoot } from "../../capsule/index.ts";
import type { HomeState, Session } from "../../session/index.ts";
import { sessionHomeDir, tasksDir } from "../../util/index.ts";
import { taskNumbersIn } from "../files/task-dirs.ts";
import { type CheckpointLimits, currentLimits, type Room } from "../room/room.ts";
import { isLeftInHome } from "./home-files.ts";
import { homeSnapshot } from "./homes.ts";
import type { Root } from "./roots.ts";

/** An agent keeps few files there; one that makes many must not keep us from the rest. */
const MAX_ENTRIES = 100_000;

export async function makeSessionHome(sessionDir: string): Promise<string> {
  const dir = sessionHomeDir(sessionDir);
  if (!existsSync(dir)) await adoptTaskHome(sessionDir, dir);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  return dir;
}

/** An earlier version had one for each task: the last one becomes the session's. */
async function adoptTaskHome(sessionDir: string, dir: string): Promise<void> {
  const tasks = tasksDir(sessionDir);
  const last = (await taskNumbersIn(sessionDir))
    .sort((a, b) => b - a)
    .find((number) => existsSync(join(tasks, String(number), "home")));
  if (last !== undefined) renameSync(join(tasks, String(last), "home"), dir);
}

/** HOME as a root of a checkpoint; undefined where there is none yet. */
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

/** Makes it what it was; credentials and what can be had again stay. */
export async function restoreHome(room: Room, home: HomeState): Promise<void> {
  const { sessionDir, repo, io } = room;
  const { homeExclude } = await currentLimits(room);
  const store = await openStore(repo, io.disk);
  const named = await homeSnapshot(sessionDir, home);
  const dir = await makeSessionHome(sessionDir);
  await restoreRoot(store, dir, named, isLeftInHome(homeExclude), io.onProgress);
}

/** A fork and an import have none yet; the session's own is there, unless somebody took it away. */
export function lacksHome({ state }: Pick<Session, "state">, sessionDir: string): boolean {
  return state.home !== null && !existsSync(sessionHomeDir(sessionDir));
}

/** Where it is not there, or is that of turns which a rewind left behind. */
export async function bringHome(room: Room): Promise<void> {
  const { session, sessionDir } = room;
  const { home, task } = session.state;
  if (home && (task?.capsule === "rewound" || lacksHome(session, sessionDir))) await restoreHome(room, home);
}
