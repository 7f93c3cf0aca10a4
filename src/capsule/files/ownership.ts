/**
 * Owns the ownership of a capsule's files when its processes run as another user: files that Holdfast writes
 * among them are given to that user. Nothing of the task runs meanwhile.
 */
import { lchownSync, lstatSync } from "node:fs";
import type { TaskUser } from "../../process/index.ts";
import { OpenDir } from "./open-dir.ts";

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
  // The top is changed last: if it has the right owner, so has everything in it.
  if (!isOf(user, stats)) lchownSync(through, user.uid, user.gid);
}

function giveAll(user: TaskUser, from: OpenDir, to: OpenDir): void {
  for (const name of from.names()) {
    const stats = from.stat(name);
    if (!stats) continue;
    // A device stands for a removed file, and belongs to the kernel.
    if (!isOf(user, stats) && !stats.isCharacterDevice()) lchownSync(to.at(name), user.uid, user.gid);
    if (!stats.isDirectory()) continue;
    using below = from.child(name);
    using same = to.child(name);
    if (below && same) giveAll(user, below, same);
  }
}

const isOf = ({ uid, gid }: TaskUser, stats: { readonly uid: number; readonly gid: number }) =>
  stats.uid === uid && stats.gid === gid;
