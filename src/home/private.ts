/**
 * Owns that a home is private to its user: directories 0700, files 0600. A home that others can access is
 * refused.
 */
import { lstat, stat } from "node:fs/promises";
import { HoldfastError } from "../contract/index.ts";
import { isOwnUid } from "../util/index.ts";

/** Refuses a path that other users could read or change. */
export async function assertPrivate(path: string): Promise<void> {
  const { mode, uid } = await stat(path);
  if (!isOwnUid(uid)) throw notOwn(path, `belongs to another user (uid ${uid})`);
  if ((mode & 0o077) === 0) return;
  const bits = (mode & 0o777).toString(8).padStart(3, "0");
  throw new HoldfastError("unsafe_permissions", `${path} has mode ${bits}: other users can access it`, {
    path,
  });
}

/** Refuses a symbolic link: Holdfast would work, and delete files, in another place. */
export async function assertOwnDir(path: string): Promise<void> {
  const stats = await lstat(path);
  if (!stats.isDirectory()) throw notOwn(path, "is a link or a file, where a directory is needed");
  if (!isOwnUid(stats.uid)) throw notOwn(path, `belongs to another user (uid ${stats.uid})`);
}

function notOwn(path: string, why: string): HoldfastError {
  return new HoldfastError("unsafe_permissions", `${path} ${why}`, { path });
}
