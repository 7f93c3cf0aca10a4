/**
 * Owns the ballast of a home, a file that is deleted when the disk is full: where it is, its size, and when
 * it is made.
 */
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { findOutsideProgram, runProgram } from "../process/index.ts";
import { ballastPath, freeBytes, temporaryPath } from "../util/index.ts";

const MAX_BYTES = 64 * 1024 * 1024;
/** A smaller ballast would not help. */
const MIN_BYTES = 4 * 1024 * 1024;
/** The ballast takes at most this fraction of the free space. */
const PART = 16;

/** Makes the ballast if possible. If it can't be made, the disk only becomes full a little earlier. */
export async function layBallast(homeDir: string): Promise<void> {
  const path = ballastPath(homeDir);
  if (existsSync(path)) return;
  const bytes = Math.min(MAX_BYTES, Math.floor(freeBytes(homeDir) / PART));
  // The disk blocks have to be allocated. `fallocate` does that at once; writing the bytes would take longer.
  if (bytes < MIN_BYTES || !findOutsideProgram("fallocate")) return;
  const temporary = temporaryPath(path);
  const env = { PATH: process.env["PATH"] ?? "" };
  const { exitCode } = await runProgram(["fallocate", "-l", String(bytes), temporary], { env });
  if (exitCode === 0) await rename(temporary, path);
  else await rm(temporary, { force: true });
}
