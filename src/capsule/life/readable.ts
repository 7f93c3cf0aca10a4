/**
 * Owns the question whether a task's user can read the objects of the repo: root can read files that its task
 * can't.
 */
import { readdirSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import type { Sandbox, TaskUser } from "../../process/index.ts";
import { errorCode } from "../../util/index.ts";

const READ = 0o4;
const SEARCH = 0o1;

/** How many directories of loose objects are checked: this many of the newest, and as many of the oldest. */
const LOOKED_INTO = 8;

/**
 * Fails before anything is changed. All directories and packs are checked. Loose objects may be very many and
 * are made alike, so one is checked in each of the directories that were changed last and first: the user's
 * umask may have been different then.
 */
export function assertReadable({ user, readable, borrowed }: Sandbox): void {
  if (!user) return;
  for (const store of [...readable.map(([from]) => from), ...borrowed]) {
    const path = firstUnreadable(user, store);
    if (path === undefined) continue;
    throw new HoldfastError(
      "repo_unreadable",
      `tasks of this repo run as user ${user.uid}, who may not read ${path}: chmod -R go+rX ${store}`,
      { path, store, uid: user.uid },
    );
  }
}

function firstUnreadable(user: TaskUser, store: string): string | undefined {
  if (!may(user, statSync(store), READ | SEARCH)) return store;
  const dirs = readdirSync(store).flatMap((name) => {
    const path = join(store, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats?.isDirectory() ? [{ name, path, stats }] : [];
  });
  const closed = dirs.find(({ stats }) => !may(user, stats, READ | SEARCH));
  if (closed) return closed.path;
  const byAge = dirs.filter(({ name }) => name !== "pack").sort((a, b) => a.stats.mtimeMs - b.stats.mtimeMs);
  const looked = new Set([...byAge.slice(0, LOOKED_INTO), ...byAge.slice(-LOOKED_INTO)]);
  const objects = [...looked].flatMap(({ path }) => filesIn(path).slice(0, 1));
  return [...objects, ...packsIn(join(store, "pack"))].find((file) => {
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats?.isFile() && !may(user, stats, READ);
  });
}

const packsIn = (dir: string) => filesIn(dir).filter((file) => /\.(pack|idx)$/.test(file));

/** Empty if the directory does not exist or is being removed. */
function filesIn(dir: string): string[] {
  try {
    return readdirSync(dir).map((name) => join(dir, name));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}

/** As the kernel decides it: the first of the three classes that apply to the user counts. */
function may(
  { uid, gid }: TaskUser,
  { mode, ...of }: Pick<Stats, "mode" | "uid" | "gid">,
  wanted: number,
): boolean {
  const bits = of.uid === uid ? mode >> 6 : of.gid === gid ? mode >> 3 : mode;
  return (bits & wanted) === wanted;
}
