/**
 * Owns the counting of what directories take of the disk, in bytes and in files.
 */
import { existsSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "../process/index.ts";

export interface DiskUse {
  readonly bytes: number;
  readonly files: number;
}

/** By the system's own program, which is fast; where that fails, by looking at each. */
export async function diskUse(dirs: readonly string[]): Promise<DiskUse> {
  const there = dirs.filter((dir) => existsSync(dir));
  return (await askProgram(there).catch(() => undefined)) ?? lookAtEach(there);
}

async function askProgram(dirs: readonly string[]): Promise<DiskUse | undefined> {
  const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C" };
  const enter = await asRootOfOwn(env);
  const sum = async (...args: string[]) => {
    const { stdout } = await runProgram([...enter, "du", "-sx", ...args, "--", ...dirs], {
      env,
      timeoutMs: 60_000,
    });
    // A line for each, or it has not counted them. One that vanished meanwhile makes it fail, and that is no matter.
    const lines = stdout.toString("utf8").trim().split("\n");
    if (lines.length !== dirs.length || !lines.every((line) => /^\d+\s/.test(line))) return undefined;
    return lines.reduce((total, line) => total + Number.parseInt(line, 10), 0);
  };
  const bytes = await sum("-B1");
  const files = bytes === undefined ? undefined : await sum("--inodes");
  return bytes === undefined || files === undefined ? undefined : { bytes, files };
}

const BLOCK_BYTES = 512;

async function lookAtEach(dirs: readonly string[]): Promise<DiskUse> {
  let bytes = 0;
  let files = 0;
  const open = [...dirs];
  for (let dir = open.pop(); dir !== undefined; dir = open.pop()) {
    for (const entry of await readdir(dir, { withFileTypes: true }).catch(() => [])) {
      const path = join(dir, entry.name);
      const stats = await lstat(path).catch(() => undefined);
      bytes += (stats?.blocks ?? 0) * BLOCK_BYTES;
      files += 1;
      if (entry.isDirectory()) open.push(path);
    }
  }
  return { bytes, files };
}

let entering: Promise<string[]> | undefined;

/**
 * A command can lock a directory against its own user, and so does an overlay with its own. In a user namespace the
 * user is root over everything that is theirs, and counts that too. Where there is none, such a directory is not
 * counted.
 */
function asRootOfOwn(env: Record<string, string>): Promise<string[]> {
  const words = ["unshare", "--user", "--map-root-user", "--"];
  entering ??=
    process.getuid?.() === 0
      ? Promise.resolve([])
      : runProgram([...words, "true"], { env, timeoutMs: 5000 }).then(
          ({ exitCode }) => (exitCode === 0 ? words : []),
          () => [],
        );
  return entering;
}
