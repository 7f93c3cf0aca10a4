/**
 * Owns whose a capsule's files are, where its processes are not ours: what we write among them is given to their user.
 * Nothing of the task runs meanwhile.
 */
import { lchownSync, lstatSync } from "node:fs";
import type { TaskUser } from "../../process/index.ts";
import { OpenDir } from "./open-dir.ts";

/**
 * All that lies in a directory, and the directory. `through`: where the same files can be changed, if they are mounted
 * somewhere; then only what the directory itself has is touched.
 */
export function giveTo(user: TaskUser | undefined, path: string, through = path): void {
  if (!user) return;
  const stats = lstatSync(path);
  if (stats.isDirectory()) {
    using from = OpenDir.root(path);
    using to = OpenDir.root(through);
    giveAll(user, from, to);
  }
  // Last: whoever finds the top given finds all of it so.
  if (!isOf(user, stats)) lchownSync(through, user.uid, user.gid);
}

function giveAll(user: TaskUser, from: OpenDir, to: OpenDir): void {
  for (const name of from.names()) {
    const stats = from.stat(name);
    if (!stats) continue;
    // A device stands for what was removed, and is the kernel's.
    if (!isOf(user, stats) && !stats.isCharacterDevice()) lchownSync(to.at(name), user.uid, user.gid);
    if (!stats.isDirectory()) continue;
    using below = from.child(name);
    using same = to.child(name);
    if (below && same) giveAll(user, below, same);
  }
}

const isOf = ({ uid, gid }: TaskUser, stats: { readonly uid: number; readonly gid: number }) =>
  stats.uid === uid && stats.gid === gid;
