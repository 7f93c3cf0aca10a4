/**
 * What an export has of HOME, and HOME of a session that was imported or forked.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { LocalHome } from "../../src/library/local-home.ts";
import { contentOf } from "./exports.ts";
import { TempDir, type TestHome } from "./home.ts";
import { gitIn } from "./repo.ts";
import { TaskHome } from "./tasks.ts";

/** The names and the content of all objects in an export. */
export function inPack(file: string): string {
  using dir = new TempDir();
  gitIn(dir.path, "init", "-q", "--bare", ".");
  const pack = contentOf(file).files.get("snapshots.pack") ?? Buffer.alloc(0);
  const env = { PATH: process.env["PATH"] ?? "" };
  execFileSync("git", ["index-pack", "--stdin"], { cwd: dir.path, input: pack, env });
  const args = ["cat-file", "--batch-all-objects", "--batch"];
  return execFileSync("git", args, { cwd: dir.path, env, maxBuffer: 1 << 28 }).toString("latin1");
}

export class Elsewhere extends TaskHome {
  constructor(from: TaskHome) {
    super();
    rmSync(this.main, { recursive: true });
    execFileSync("git", ["clone", "-q", from.main, this.main]);
  }
}

/** The files in HOME of a session, with their content. */
export function homeOf(home: TestHome, id: string): Record<string, string> {
  const dir = home.sessionDir(id, "home");
  return Object.fromEntries(readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), "utf8")]));
}

export async function homeOfFork(home: TestHome, hf: LocalHome, id: string, atTurn: number, user?: string) {
  const fork = await hf.forkSession(id, { atTurn, ...(user && { user }) });
  await fork.pause();
  return { id: fork.id, files: homeOf(home, fork.id) };
}
