/**
 * Benches of verification on 50,000 files, against making a capsule there; and of everything around a command
 * that does nothing, against `git worktree add` and `remove`.
 */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { openLocalHome } from "../src/library/index.ts";
import { findProgram } from "../src/process/index.ts";
import { verifyTree } from "../src/task/verify/verify-tree.ts";
import { makeRepo } from "./capsules.ts";
import { atLeast, atMost, median, type Row, timeMs } from "./measure.ts";

const run = promisify(execFile);
const MAIN = resolve(import.meta.dirname, "..", "dist", "cli", "main.js");
const ROUNDS = 7;
const ms = (value: number) => `${Math.round(value)} ms`;

export async function benchVerify(directory: string, progress: (text: string) => void): Promise<Row[]> {
  progress("verification on 50,000 files");
  const { dir: repo } = await makeRepo(join(directory, "checked"), 50_000, 4 * 1024, 0);
  writeFileSync(join(repo, "holdfast.yaml"), "checks: [{ name: nothing, run: 'true' }]\n");
  await run("git", ["add", "-A"], { cwd: repo });
  await run("git", ["commit", "-qm", "checks"], { cwd: repo });
  const home = join(directory, "verified-home");
  const { create, verify } = await verifying(home, repo);
  progress("a command that does nothing, against git worktree");
  const plain: number[] = [];
  const ours: number[] = [];
  const wall = findProgram("bwrap") === undefined ? ["--no-sandbox"] : [];
  const nothing = [MAIN, "run", "--home", home, ...wall, "--", "true"];
  for (let round = 0; round < 3; round += 1) {
    const at = join(directory, `plain-${round}`);
    plain.push(
      await timeMs(async () => {
        await run("git", ["worktree", "add", "-q", "--detach", at], { cwd: repo });
        await run("git", ["worktree", "remove", "--force", at], { cwd: repo });
      }),
    );
    for (let times = 0; times < 3; times += 1)
      ours.push(await timeMs(() => run(process.execPath, nothing, { cwd: repo })));
  }
  return [
    atMost(
      "verifying with `true` on 50,000 files, against making a capsule there",
      `${ms(verify)} : ${ms(create)}`,
      verify / create,
      2,
    ),
    atLeast(
      "git worktree add + remove on 50,000 files, against all of `run -- true`",
      `${ms(median(plain))} : ${ms(median(ours))}`,
      median(plain) / median(ours),
      10,
    ),
  ];
}

/** Medians, after a first run of each. */
async function verifying(home: string, repo: string): Promise<{ create: number; verify: number }> {
  const hf = await openLocalHome({ home });
  const sandbox = findProgram("bwrap") !== undefined;
  const creates: number[] = [];
  const verifies: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    await using session = await hf.openSession({ repo, title: "verified" });
    const task = await hf.startTask(session, { sandbox });
    await task.runTurn(["sh", "-c", "echo changed >> src/d0/f0.ts"]);
    const { work } = await task.checkpoint();
    for await (const { type, data } of hf.readJournal(session.id))
      if (type === "capsule_created") creates.push(Number(data["durationMs"]));
    verifies.push(await timeMs(() => verifyTree(task.room, { tree: work.tree, base: task.base })));
    await task.end("cancelled");
  }
  return { create: median(creates.slice(1)), verify: median(verifies.slice(1)) };
}
