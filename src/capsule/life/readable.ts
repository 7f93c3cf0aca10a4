/**
 * Owns the question whether a task's user can read the objects of the repo: root can read what its task can't.
 */
import { readdirSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import type { Sandbox, TaskUser } from "../../process/index.ts";

const READ = 0o4;
const SEARCH = 0o1;

/**
 * Fails before anything is changed. Directories and packs are all looked at, and one object of each directory: they are
 * made alike, and there may be very many.
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
  for (const name of readdirSync(store)) {
    const dir = join(store, name);
    const stats = statSync(dir, { throwIfNoEntry: false });
    if (!stats?.isDirectory()) continue;
    if (!may(user, stats, READ | SEARCH)) return dir;
    const files = readdirSync(dir).map((file) => join(dir, file));
    const looked = name === "pack" ? files.filter((file) => /\.(pack|idx)$/.test(file)) : files.slice(0, 1);
    const closed = looked.find((file) => {
      const found = statSync(file, { throwIfNoEntry: false });
      return found?.isFile() && !may(user, found, READ);
    });
    if (closed !== undefined) return closed;
  }
  return undefined;
}

/** As the kernel decides it: by the first of the three that a user is. */
function may(
  { uid, gid }: TaskUser,
  { mode, ...of }: Pick<Stats, "mode" | "uid" | "gid">,
  wanted: number,
): boolean {
  const bits = of.uid === uid ? mode >> 6 : of.gid === gid ? mode >> 3 : mode;
  return (bits & wanted) === wanted;
}
