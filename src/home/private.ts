/**
 * Owns that a home is its user's own: directories 0700, files 0600. One that others can enter is refused.
 */
import { lstat, stat } from "node:fs/promises";
import { HoldfastError } from "../contract/index.ts";
import { isOwnUid } from "../util/index.ts";

/** What others could read or change is not a room of one's own. */
export async function assertPrivate(path: string): Promise<void> {
  const { mode, uid } = await stat(path);
  if (!isOwnUid(uid)) throw notOwn(path, `belongs to another user (uid ${uid})`);
  if ((mode & 0o077) === 0) return;
  const bits = (mode & 0o777).toString(8).padStart(3, "0");
  throw new HoldfastError("unsafe_permissions", `${path} has mode ${bits}: others can reach it`, { path });
}

/** A link in its place would have us work, and delete, somewhere else. */
export async function assertOwnDir(path: string): Promise<void> {
  const stats = await lstat(path);
  if (!stats.isDirectory()) throw notOwn(path, "is no directory, but a link to one");
  if (!isOwnUid(stats.uid)) throw notOwn(path, `belongs to another user (uid ${stats.uid})`);
}

function notOwn(path: string, why: string): HoldfastError {
  return new HoldfastError("unsafe_permissions", `${path} ${why}`, { path });
}
