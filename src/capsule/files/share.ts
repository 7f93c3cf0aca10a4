/**
 * Owns copies of whole directories. Where the file system can, they share their blocks with the original: a
 * snapshot of a btrfs subvolume, which costs the same whatever its size, or a copy file by file (reflink,
 * clonefile).
 */
import { statSync } from "node:fs";
import { mkdir, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { findOutsideProgram, runProgram } from "../../process/index.ts";

const BTRFS_MAGIC = 0x9123683e;
/** The root directory of every subvolume has this inode. */
const SUBVOLUME_INODE = 256;
const env = () => ({ PATH: process.env["PATH"] ?? "" });

/** Makes a directory that can later be copied in one operation, if the file system supports that. */
export async function makeShareable(path: string): Promise<void> {
  if (await isOnBtrfs(dirname(path))) {
    const { exitCode } = await runProgram(["btrfs", "subvolume", "create", path], { env: env() });
    if (exitCode === 0) return;
  }
  await mkdir(path, { mode: 0o700 });
}

async function isOnBtrfs(path: string): Promise<boolean> {
  return findOutsideProgram("btrfs") !== undefined && (await statfs(path)).type === BTRFS_MAGIC;
}

/** Shares the blocks or fails: a copy that does not share them would be a slow worktree. */
export async function copySharing(from: string, to: string): Promise<void> {
  const { exitCode, stderr } = await runProgram(await copyCommand(from, to, "always"), { env: env() });
  if (exitCode === 0) return;
  const reason = stderr.trim().split("\n", 1)[0];
  throw new HoldfastError(
    "strategy_unavailable",
    `this file system can't share blocks between copies: ${reason}`,
  );
}

/** Shares the blocks where that is possible, and copies them elsewhere. */
export async function copyWhole(from: string, to: string): Promise<void> {
  const { exitCode, stderr } = await runProgram(await copyCommand(from, to, "auto"), { env: env() });
  if (exitCode === 0) return;
  const reason = stderr.trim().split("\n", 1)[0];
  throw new HoldfastError("file_unwritable", `${from} can't be copied: ${reason}`, { path: to });
}

async function copyCommand(from: string, to: string, reflink: "always" | "auto"): Promise<string[]> {
  if (process.platform === "darwin") return ["cp", reflink === "always" ? "-cRp" : "-Rp", from, to];
  const isSubvolume = statSync(from).ino === SUBVOLUME_INODE && (await isOnBtrfs(from));
  return isSubvolume
    ? ["btrfs", "subvolume", "snapshot", from, to]
    : ["cp", "-a", `--reflink=${reflink}`, from, to];
}
