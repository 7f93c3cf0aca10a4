/**
 * Owns operations on whole directories: syncing one, throwing one away.
 *
 * directory-1 A directory that is thrown away is first renamed, so that it is gone at once. The deletion may
 *    be cut off at any moment; the next process that looks into the trash finishes it.
 */
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { runProgram, startDetached } from "../../process/index.ts";
import { type Disk, errorCode } from "../../util/index.ts";

const env = () => ({ PATH: process.env["PATH"] ?? "/usr/bin:/bin" });

/** Syncs everything that was written to the file system that holds the path. */
export async function syncFileSystem(path: string): Promise<void> {
  const { exitCode, stderr } = await runProgram(["sync", "-f", path], { env: env() });
  if (exitCode !== 0) throw new HoldfastError("disk_full", `${path} could not be synced: ${stderr.trim()}`);
}

/** An ordinary removal stops at directories that their owner has locked. */
export async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(async () => {
    await runProgram(["chmod", "-R", "u+rwX", "--", path], { env: env() });
    // This also removes what is deeper than a path may be long.
    const { exitCode, stderr } = await runProgram(["rm", "-rf", "--", path], { env: env() });
    if (exitCode !== 0)
      throw new HoldfastError("file_unwritable", `${path} can't be removed: ${stderr.trim()}`, { path });
  });
}

/** Does nothing if there is no such directory. */
export async function moveToTrash(disk: Disk, trashDir: string, path: string, name: string): Promise<void> {
  try {
    await disk.rename(path, join(trashDir, name));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return;
    throw error;
  }
  await disk.syncDir(dirname(path));
  await disk.syncDir(trashDir);
}

/** Starts the deletion of what is in the trash, in a process that the caller does not wait for. */
export async function sweepTrash(trashDir: string): Promise<number> {
  const names = await readdir(trashDir).catch(() => []);
  if (names.length === 0) return 0;
  const script =
    'cd "$1" && shift && for one in "$@"; do chmod -R u+rwX -- "$one" 2>/dev/null; rm -rf -- "$one"; done';
  await startDetached(
    [
      "nice",
      "-n",
      "19",
      "sh",
      "-c",
      script,
      "holdfast-sweep",
      trashDir,
      ...names.map((name) => `./${basename(name)}`),
    ],
    { env: env() },
    // If it can't be started, the trash waits for the next call.
  ).catch(() => {});
  return names.length;
}
