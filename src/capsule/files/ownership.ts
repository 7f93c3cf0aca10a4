/**
 * Owns the ownership of files whose processes run as another user: files that Holdfast writes among them are
 * given to that user. Nothing of the task runs meanwhile.
 */
import { lchownSync, lstatSync } from "node:fs";
import type { TaskUser } from "../../process/index.ts";
import { descend, type Level } from "./descent.ts";
import { OpenDir } from "./open-dir.ts";
import type { BytePath } from "./path.ts";

/**
 * Gives a user a directory and everything in it. `through` is where the same files can be changed, if they
 * are mounted there; then only entries that the directory itself has are changed.
 */
export function giveTo(user: TaskUser | undefined, path: string, through = path): void {
  if (!user) return;
  const stats = lstatSync(path);
  if (stats.isDirectory()) {
    using from = OpenDir.root(path);
    using to = OpenDir.root(through);
    giveAll(user, from, to);
  }
  // The top is changed last: if it has the right owner, so has everything that was in it.
  if (!isOf(user, stats)) lchownSync(through, user.uid, user.gid);
}

/**
 * The same for a directory that is given before each command: it takes no time if nothing in it was written
 * by Holdfast since. `takeBack` goes before such a write.
 */
export function giveOnce(user: TaskUser | undefined, dir: string): void {
  if (user && !isOf(user, lstatSync(dir))) giveTo(user, dir);
}

/** Marks a directory in which Holdfast is about to write. A kill in between leaves the mark. */
export function takeBack(dir: string): void {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  if (uid === 0 && gid !== undefined) lchownSync(dir, uid, gid);
}

interface Given extends Level {
  readonly from: OpenDir;
  readonly to: OpenDir;
}

function giveAll(user: TaskUser, from: OpenDir, to: OpenDir): void {
  const first = { from, to, names: from.names().values(), close: () => {} };
  descend<Given>(first, { enter: (level, name) => give(user, level, name) });
}

/** Returns what to go through next, if the entry is a directory. */
function give(user: TaskUser, { from, to }: Given, name: BytePath): Given | undefined {
  const stats = from.stat(name);
  // A device stands for a removed file, and belongs to the kernel.
  if (stats && !isOf(user, stats) && !stats.isCharacterDevice()) lchownSync(to.at(name), user.uid, user.gid);
  if (!stats?.isDirectory()) return undefined;
  const below = from.child(name);
  const same = to.child(name);
  const close = () => {
    for (const dir of [same, below]) dir?.[Symbol.dispose]();
  };
  if (below && same) return { from: below, to: same, names: below.names().values(), close };
  close();
  return undefined;
}

const isOf = ({ uid, gid }: TaskUser, stats: { readonly uid: number; readonly gid: number }) =>
  stats.uid === uid && stats.gid === gid;
