/**
 * Real git repos for tests, and a hash of everything in them that Holdfast must not change.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** Git as a user would run it, without any configuration. */
export function gitIn(dir: string, ...args: string[]): string {
  return execFileSync("git", args, {
    cwd: dir,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" },
  }).trimEnd();
}

export function makeRepo(dir: string, files: Record<string, string | Buffer> = { "a.txt": "one\n" }): string {
  mkdirSync(dir, { recursive: true });
  gitIn(dir, "init", "-q", "-b", "main");
  gitIn(dir, "config", "user.name", "Ani");
  gitIn(dir, "config", "user.email", "ani@example.org");
  commitFiles(dir, files, "the first");
  return dir;
}

export function commitFiles(dir: string, files: Record<string, string | Buffer>, message: string): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(dir, dirname(path)), { recursive: true });
    writeFileSync(join(dir, path), content);
  }
  gitIn(dir, "add", "-A");
  gitIn(dir, "commit", "-q", "--allow-empty", "-m", message);
  return gitIn(dir, "rev-parse", "HEAD");
}

/** Every path below a directory → its type, mode and content. */
export function listTree(root: string, skip: (path: string) => boolean = () => false): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (dir: Buffer, prefix: string) => {
    for (const name of readdirSync(dir, { encoding: "latin1" })) {
      const path = prefix === "" ? name : `${prefix}/${name}`;
      if (skip(path)) continue;
      const full = Buffer.concat([dir, Buffer.from(`/${name}`, "latin1")]);
      const stats = lstatSync(full);
      const mode = (stats.mode & 0o7777).toString(8);
      if (stats.isDirectory()) {
        found.set(path, `dir ${mode}`);
        const isLocked = (stats.mode & 0o500) !== 0o500 && process.getuid?.() !== 0;
        if (isLocked) chmodSync(full, 0o700);
        visit(full, path);
        if (isLocked) chmodSync(full, stats.mode & 0o7777);
      } else if (stats.isSymbolicLink()) found.set(path, `link ${readlinkSync(full, "latin1")}`);
      else if (stats.isFile()) {
        const isLocked = (stats.mode & 0o400) === 0 && process.getuid?.() !== 0;
        if (isLocked) chmodSync(full, 0o600);
        found.set(path, `file ${mode} ${createHash("sha256").update(readFileSync(full)).digest("hex")}`);
        if (isLocked) chmodSync(full, stats.mode & 0o7777);
      } else found.set(path, stats.isFIFO() ? `fifo ${mode}` : "special");
    }
  };
  visit(Buffer.from(root), "");
  return found;
}

/** A hash of everything in a repo, except what Holdfast may add: its branches, its hidden refs, objects. */
export function fingerprint(repo: string): string {
  const gitDir = gitIn(repo, "rev-parse", "--absolute-git-dir");
  const isOurs = (path: string) =>
    /^(\.git\/)?(objects($|\/)|refs\/holdfast($|\/)|(logs\/)?refs\/heads\/holdfast($|\/)|(logs\/)?refs\/heads$|logs\/refs$|refs$)/.test(
      path,
    );
  const tree = listTree(gitDir.startsWith(repo) ? repo : gitDir, isOurs);
  // Without times: adding something to a directory changes them.
  const rows = [...tree].map(([path, what]) => `${path} ${what}`).sort();
  return createHash("sha256").update(rows.join("\n")).digest("hex");
}
