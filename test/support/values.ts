/**
 * Planted values, and the search for them: in every file of a home, in the arguments of every process, in
 * git's objects, in an export.
 */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { errorCode } from "../../src/util/index.ts";

/** A new value, which no rule takes for a secret. */
export const newValue = (word = "marmalade") => `${word} ${randomBytes(6).toString("hex")}`;

/**
 * Every file below a directory that has this in its bytes. Locks are left out: closing one after reading it
 * would drop it.
 */
export function filesWith(dir: string, text: string): string[] {
  const entries = whileThere(() => readdirSync(dir, { withFileTypes: true })) ?? [];
  return entries.flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.name.endsWith(".lock")) return [];
    if (entry.isDirectory()) return filesWith(path, text);
    return entry.isFile() && whileThere(() => readFileSync(path).includes(text)) ? [path] : [];
  });
}

/** Processes that have this text in their arguments. */
export function processesWith(text: string): string[] {
  return readdirSync("/proc").filter(
    (name) => /^\d+$/.test(name) && whileThere(() => readFileSync(`/proc/${name}/cmdline`))?.includes(text),
  );
}

/** Whether any object of a git directory has this text. */
export function objectsHave(gitDir: string, text: string): boolean {
  const args = ["--git-dir", gitDir, "cat-file", "--batch", "--batch-all-objects", "--buffer"];
  return execFileSync("git", args, { maxBuffer: 1 << 28 }).includes(text);
}

/** Whether an export has this text, in one of its files or in a snapshot. */
export function exportHas(path: string, text: string): boolean {
  const bytes = zstdDecompressSync(readFileSync(path));
  const end = bytes.indexOf("\n") + 1;
  const manifest = JSON.parse(bytes.subarray(0, end).toString()) as {
    files: { path: string; bytes: number }[];
  };
  let at = end;
  let has = bytes.includes(text);
  for (const file of manifest.files) {
    if (file.path === "snapshots.pack") has ||= packHas(bytes.subarray(at, at + file.bytes), text);
    at += file.bytes;
  }
  return has;
}

function packHas(pack: Buffer, text: string): boolean {
  const dir = mkdtempSync(join(tmpdir(), "holdfast-pack-"));
  try {
    execFileSync("git", ["init", "-q", "--bare", dir]);
    execFileSync("git", ["--git-dir", dir, "index-pack", "--stdin"], {
      input: pack,
      stdio: ["pipe", "ignore", "ignore"],
    });
    return objectsHave(dir, text);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function whileThere<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (!["ENOENT", "ESRCH", "EACCES"].includes(errorCode(error) ?? "")) throw error;
    return undefined;
  }
}
