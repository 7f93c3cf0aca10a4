/**
 * Benches of verification on 50,000 files: what a check adds to a whole task, against making the task's capsule
 * there; and of everything around a command that does nothing, against `git worktree add` and `remove`.
 */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { openLocalHome } from "../src/library/index.ts";
import { findProgram } from "../src/process/index.ts";
import { verifyTree } from "../src/task/verify/verify-tree.ts";
import { makeRepo } from "./capsules.ts";
import { atLeast, atMost, compared, median, type Row, timeMs } from "./measure.ts";

const run = promisify(execFile);
const MAIN = resolve(import.meta.dirname, "..", "dist", "cli", "main.js");
const ROUNDS = 11;
const CONFIGS = {
  checked: "checks: [{ name: nothing, run: 'true' }]\n",
  unchecked: "capsule: { strategy: auto }\n",
} as const;
const ms = (value: number) => `${Math.round(value)} ms`;

export async function benchVerify(directory: string, progress: (text: string) => void): Promise<Row[]> {
  progress("verification on 50,000 files");
  const [checked, unchecked] = [await repoWith(directory, "checked"), await repoWith(directory, "unchecked")];
  const added = await adding(directory, { checked, unchecked });
  const { create, verify } = await verifying(join(directory, "verified-home"), checked);
  progress("a command that does nothing, against git worktree");
  const plain: number[] = [];
  const ours: number[] = [];
  const nothing = [MAIN, "run", "--home", join(directory, "verified-home"), ...wall(), "--", "true"];
  for (let round = 0; round < 3; round += 1) {
    const at = join(directory, `plain-${round}`);
    plain.push(
      await timeMs(async () => {
        await run("git", ["worktree", "add", "-q", "--detach", at], { cwd: checked });
        await run("git", ["worktree", "remove", "--force", at], { cwd: checked });
      }),
    );
    for (let times = 0; times < 3; times += 1)
      ours.push(await timeMs(() => run(process.execPath, nothing, { cwd: checked })));
  }
  return [
    atMost(
      "what the check `true` adds to a task on 50,000 files, against making its capsule",
      `${ms(added.withCheck)} - ${ms(added.without)} : ${ms(added.create)}`,
      (added.withCheck - added.without) / added.create,
      2,
    ),
    compared(
      "the same in one process that has done both before",
      `${ms(verify)} : ${ms(create)}`,
      verify / create,
    ),
    atLeast(
      "git worktree add + remove on 50,000 files, against all of `run -- true`",
      `${ms(median(plain))} : ${ms(median(ours))}`,
      median(plain) / median(ours),
      10,
    ),
  ];
}

const wall = () => (findProgram("bwrap") === undefined ? ["--no-sandbox"] : []);

async function repoWith(directory: string, config: keyof typeof CONFIGS): Promise<string> {
  const { dir } = await makeRepo(join(directory, config), 50_000, 4 * 1024, 0);
  writeFileSync(join(dir, "holdfast.yaml"), CONFIGS[config]);
  await run("git", ["add", "-A"], { cwd: dir });
  await run("git", ["commit", "-qm", "config"], { cwd: dir });
  return dir;
}

/**
 * Medians of whole tasks that change one file, as a user runs them, in turns with a check and without; and of the
 * time that making their capsules took.
 */
async function adding(
  directory: string,
  repos: { readonly checked: string; readonly unchecked: string },
): Promise<{ withCheck: number; without: number; create: number }> {
  const home = join(directory, "added-home");
  const changing = ["run", "--home", home, ...wall(), "--", "sh", "-c", "echo changed >> src/d0/f0.ts"];
  const task = (cwd: string) => timeMs(() => run(process.execPath, [MAIN, ...changing], { cwd }));
  const times = { checked: [] as number[], unchecked: [] as number[] };
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const name of ["checked", "unchecked"] as const) times[name].push(await task(repos[name]));
  const hf = await openLocalHome({ home });
  const creates: number[] = [];
  for (const { id } of await hf.listSessions())
    for await (const { type, data } of hf.readJournal(id))
      if (type === "capsule_created") creates.push(Number(data["durationMs"]));
  return {
    withCheck: median(times.checked.slice(1)),
    without: median(times.unchecked.slice(1)),
    create: median(creates),
  };
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
