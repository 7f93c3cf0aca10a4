/**
 * Owns counting how much of the disk directories use, in bytes and in files. Bytes are blocks, not lengths.
 */
import { existsSync } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { programPath } from "./outside-program.ts";
import { runProgram } from "./program.ts";

export interface DiskUse {
  readonly bytes: number;
  readonly files: number;
}

const nothing: DiskUse = { bytes: 0, files: 0 };

export async function diskUse(dirs: readonly string[]): Promise<DiskUse> {
  return (await diskUseOfEach(dirs)).reduce(
    (sum, { bytes, files }) => ({ bytes: sum.bytes + bytes, files: sum.files + files }),
    nothing,
  );
}

/** In the order of the directories. Files that two of them share by hard links are counted with the first. */
export async function diskUseOfEach(dirs: readonly string[]): Promise<DiskUse[]> {
  const there = dirs.filter((dir) => existsSync(dir));
  // By the system's own program, which is fast. If that fails, by looking at each file.
  const counted = (await askProgram(there).catch(() => undefined)) ?? (await lookAtEach(there));
  return dirs.map((dir) => counted[there.indexOf(dir)] ?? nothing);
}

async function askProgram(dirs: readonly string[]): Promise<DiskUse[] | undefined> {
  if (dirs.length === 0) return [];
  const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C" };
  const enter = await inOwnUserNamespace(env);
  const du = programPath("du");
  const count = async (...args: string[]) => {
    const { stdout } = await runProgram([...enter, du, "-sx", ...args, "--", ...dirs], {
      env,
      timeoutMs: 60_000,
    });
    // Unless there is a line for each, it has not counted them. A file that vanished meanwhile makes it fail,
    // which is harmless.
    const lines = stdout.toString("utf8").trim().split("\n");
    if (lines.length !== dirs.length || !lines.every((line) => /^\d+\s/.test(line))) return undefined;
    return lines.map((line) => Number.parseInt(line, 10));
  };
  const bytes = await count("-B1");
  const files = bytes && (await count("--inodes"));
  return files && bytes?.map((one, index) => ({ bytes: one, files: files[index] ?? 0 }));
}

const BLOCK_BYTES = 512;

async function lookAtEach(dirs: readonly string[]): Promise<DiskUse[]> {
  const seen = new Set<string>();
  const counted: DiskUse[] = [];
  for (const dir of dirs) counted.push(await lookAt(dir, seen));
  return counted;
}

async function lookAt(dir: string, seen: Set<string>): Promise<DiskUse> {
  let bytes = 0;
  let files = 0;
  const open = [dir];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const stats = await lstat(path).catch(() => undefined);
    if (!stats || seen.has(`${stats.dev} ${stats.ino}`)) continue;
    if (stats.nlink > 1 && !stats.isDirectory()) seen.add(`${stats.dev} ${stats.ino}`);
    bytes += stats.blocks * BLOCK_BYTES;
    files += 1;
    if (!stats.isDirectory()) continue;
    for (const name of await readdir(path).catch(() => [])) open.push(join(path, name));
  }
  return { bytes, files };
}

let entering: Promise<string[]> | undefined;

/**
 * A command can lock a directory against its own user, and so does an overlay with its work directory. In a
 * user namespace the user is root over all their files, and can count those too. Without one, such a
 * directory is not counted.
 */
function inOwnUserNamespace(env: Record<string, string>): Promise<string[]> {
  entering ??= process.getuid?.() === 0 ? Promise.resolve([]) : tryInOwnUserNamespace(env).catch(() => []);
  return entering;
}

async function tryInOwnUserNamespace(env: Record<string, string>): Promise<string[]> {
  const words = [programPath("unshare"), "--user", "--map-root-user", "--"];
  const { exitCode } = await runProgram([...words, programPath("true")], { env, timeoutMs: 5000 });
  return exitCode === 0 ? words : [];
}
