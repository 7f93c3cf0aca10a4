/**
 * Owns what is done to whole directories: syncing one, throwing one away.
 *
 * K14 What is thrown away is renamed first, so that it is gone at once; the deletion may be cut off at any
 *     moment and is finished by whoever looks into the trash next.
 */
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { runProgram, startDetached } from "../../process/index.ts";
import { type Disk, errorCode } from "../../util/index.ts";

const env = () => ({ PATH: process.env["PATH"] ?? "/usr/bin:/bin" });

/** Everything that was written to the file system that holds the path. */
export async function syncFileSystem(path: string): Promise<void> {
  const { exitCode, stderr } = await runProgram(["sync", "-f", path], { env: env() });
  if (exitCode !== 0) throw new HoldfastError("disk_full", `${path} could not be synced: ${stderr.trim()}`);
}

/** Directories that their owner has locked stand in the way of an ordinary removal. */
export async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(async () => {
    await runProgram(["chmod", "-R", "u+rwX", "--", path], { env: env() });
    // Also what lies deeper than a path may be long.
    const { exitCode, stderr } = await runProgram(["rm", "-rf", "--", path], { env: env() });
    if (exitCode !== 0)
      throw new HoldfastError("file_unwritable", `${path} can't be removed: ${stderr.trim()}`, { path });
  });
}

/** Does nothing when there is no such directory. */
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

/** Starts the deletion of what is in the trash, in a process that nobody has to wait for. */
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
    // Where it can't be started it stays there for the next one.
  ).catch(() => {});
  return names.length;
}
