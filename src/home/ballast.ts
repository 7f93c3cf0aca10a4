/**
 * Owns the ballast of a home: where it lies, how much it is, and that it is laid again when there is space.
 */
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { findOutsideProgram, runProgram } from "../process/index.ts";
import { ballastPath, freeBytes, temporaryPath } from "../util/index.ts";

const MAX_BYTES = 64 * 1024 * 1024;
/** Less than this would be of no use to anybody. */
const MIN_BYTES = 4 * 1024 * 1024;
/** Of what is free, it takes so much at most. */
const PART = 16;

/** A hint: where it can't be laid, a full disk is only full a little earlier. */
export async function layBallast(homeDir: string): Promise<void> {
  const path = ballastPath(homeDir);
  if (existsSync(path)) return;
  const bytes = Math.min(MAX_BYTES, Math.floor(freeBytes(homeDir) / PART));
  // Its blocks have to be taken, not only its name; written by hand, that would take its time.
  if (bytes < MIN_BYTES || !findOutsideProgram("fallocate")) return;
  const temporary = temporaryPath(path);
  const env = { PATH: process.env["PATH"] ?? "" };
  const { exitCode } = await runProgram(["fallocate", "-l", String(bytes), temporary], { env });
  if (exitCode === 0) await rename(temporary, path);
  else await rm(temporary, { force: true });
}
