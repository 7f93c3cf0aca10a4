/**
 * Bench of the look before a merge: which of twenty works will collide, against one `git merge-tree`.
 */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { collisions, openRepo, openStore } from "../src/capsule/index.ts";
import { realDisk } from "../src/util/index.ts";
import { atMost, inTurns, type Row } from "./measure.ts";

const run = promisify(execFile);
const WORKS = 20;
const FILES = 2000;

export async function benchMerging(directory: string, progress: (text: string) => void): Promise<Row[]> {
  progress("twenty works of one repo");
  const main = join(directory, "merging");
  const home = join(directory, "merging-home");
  for (const dir of [join(main, "src"), home]) mkdirSync(dir, { recursive: true, mode: 0o700 });
  const git = async (...args: string[]) => (await run("git", args, { cwd: main })).stdout.trim();
  await git("init", "-q", "-b", "main");
  await git("config", "user.name", "bench");
  await git("config", "user.email", "bench@localhost");
  for (let at = 0; at < FILES; at += 1) writeFileSync(join(main, "src", `${at}.txt`), `${at}\n`.repeat(20));
  await git("add", "-A");
  await git("commit", "-q", "-m", "first");
  const works: { session: string; commit: string }[] = [];
  for (let at = 0; at < WORKS; at += 1) {
    await git("checkout", "-q", "-b", `work-${at}`, "main");
    // Every second work changes a file that its neighbour changes, too.
    writeFileSync(join(main, "src", `${at - (at % 2)}.txt`), `work ${at}\n`);
    writeFileSync(join(main, "src", `own-${at}.txt`), "own\n");
    await git("add", "-A");
    await git("commit", "-q", "-m", `work ${at}`);
    works.push({ session: `sess_${at}`, commit: await git("rev-parse", "HEAD") });
  }
  await git("checkout", "-q", "main");
  const repo = await openRepo({ dir: home, id: "home_bench" }, main);
  const store = await openStore(repo, realDisk);
  const target = await git("rev-parse", "main");
  const measured = await inTurns(
    {
      conflicts: () => collisions(repo, store, { works, target }),
      one: () => git("merge-tree", "--write-tree", "work-2", "work-5"),
    },
    { rounds: 7, perRound: 3 },
  );
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  return [
    atMost(
      "conflicts: git's part for 20 works, against one git merge-tree",
      `${ms(measured.conflicts)} : ${ms(measured.one)}`,
      measured.conflicts / measured.one,
      WORKS,
    ),
  ];
}
