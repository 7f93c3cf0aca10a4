/**
 * Bench of the look before a merge: which of twenty sessions will collide, as `holdfast conflicts` finds it out
 * from their journals, against one `git merge-tree`.
 */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type LocalHome, openLocalHome } from "../src/library/local-home.ts";
import { trySandbox } from "../src/process/index.ts";
import { atMost, inTurns, type Row } from "./measure.ts";

const run = promisify(execFile);
const WORKS = 20;
const FILES = 2000;

export async function benchMerging(directory: string, progress: (text: string) => void): Promise<Row[]> {
  progress("twenty sessions with work in one repo");
  const main = join(directory, "merging");
  mkdirSync(join(main, "src"), { recursive: true });
  const git = async (...args: string[]) => (await run("git", args, { cwd: main })).stdout.trim();
  await git("init", "-q", "-b", "main");
  await git("config", "user.name", "bench");
  await git("config", "user.email", "bench@localhost");
  for (let at = 0; at < FILES; at += 1) writeFileSync(join(main, "src", `${at}.txt`), `${at}\n`.repeat(20));
  await git("add", "-A");
  await git("commit", "-q", "-m", "first");
  const holdfast = await openLocalHome({ home: join(directory, "merging-home") });
  const sandbox = (await trySandbox()) === undefined;
  for (let at = 0; at < WORKS; at += 1) await work(holdfast, main, at, sandbox);
  const [found] = await holdfast.findConflicts();
  if (found?.sessions !== WORKS || found.conflicts.length !== WORKS / 2)
    throw new Error(`of ${found?.sessions} sessions, ${found?.conflicts.length} pairs collide`);
  const measured = await inTurns(
    {
      conflicts: () => holdfast.findConflicts(),
      one: () => git("merge-tree", "--write-tree", "holdfast/work-2", "holdfast/work-5"),
    },
    { rounds: 7, perRound: 3 },
  );
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  return [
    atMost(
      "conflicts of 20 sessions, from their journals on, against one git merge-tree",
      `${ms(measured.conflicts)} : ${ms(measured.one)}`,
      measured.conflicts / measured.one,
      WORKS,
    ),
  ];
}

/** A session at rest. Every second one changes a file that its neighbour changes too. A quarter is not published. */
async function work(holdfast: LocalHome, repo: string, at: number, sandbox: boolean): Promise<void> {
  await using session = await holdfast.openSession({ repo, title: `work ${at}` });
  const task = await holdfast.startTask(session, { sandbox });
  const script = `echo 'work ${at}' > src/${at - (at % 2)}.txt; echo own > src/own-${at}.txt`;
  await task.runTurn(["sh", "-c", script]);
  await task.end(at % 4 === 3 ? "failed" : "done");
}
