/**
 * A home that an earlier version made still opens, and its sessions continue with their branches, capsules
 * and HOME.
 *
 * `fixtures/home-before-1.tar.gz` was made by the library of commit 3674f7e. It has three sessions of the
 * user ani on one repo: one with two published tasks, one in a worktree whose last task began with --base and
 * failed, and one that was torn down. Journals name their repo by its path, so the fixture has to be unpacked
 * where it was made.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { openLocalHome } from "../../src/library/local-home.ts";
import { errorCode } from "../../src/util/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { gitIn } from "../support/repo.ts";
import { sandbox } from "../support/tasks.ts";

const PLACE = "/tmp/holdfast-before-1";
const FIXTURE = join(import.meta.dirname, "..", "fixtures", "home-before-1.tar.gz");
const ABANDONED_MS = 10 * 60_000;

/** The path is fixed, so test runs on the same machine wait for each other. */
async function unpack(): Promise<Disposable> {
  for (;;) {
    try {
      mkdirSync(PLACE, { mode: 0o700 });
      break;
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
      if (Date.now() - statSync(PLACE).mtimeMs > ABANDONED_MS)
        rmSync(PLACE, { recursive: true, force: true });
      await sleep(200);
    }
  }
  const place = { [Symbol.dispose]: () => rmSync(PLACE, { recursive: true, force: true }) };
  try {
    execFileSync("tar", ["-xzf", FIXTURE, "--no-same-owner", "-C", PLACE]);
    return place;
  } catch (error) {
    place[Symbol.dispose]();
    throw error;
  }
}

it("event-1 sessions of a home from an earlier version continue with their files, HOME and branches", async () => {
  using _ = await unpack();
  const main = join(PLACE, "main");
  const ids = JSON.parse(readFileSync(join(PLACE, "ids.json"), "utf8")) as Record<string, string>;
  const hf = await openLocalHome({ home: join(PLACE, "home") });
  const user = "ani";
  const next = async (id: string, script: string) => {
    await using session = await hf.resumeSession(id, { user, files: false });
    const task = await hf.startTask(session, sandbox);
    let said = "";
    await task.runTurn(["sh", "-c", script], { onOutput: (chunk) => (said += chunk) });
    const { branch, outcome } = await task.end("done");
    return { said: said.trimEnd(), branch, outcome };
  };
  const talk = hasSandbox ? 'grep -c talk "$HOME/talk"; ' : "echo 2; ";
  const { overlay = "", worktree = "", tornDown = "" } = ids;
  // Checks that the task can write to everything that it finds.
  const closed =
    'find . "$HOME" "$TMPDIR" ! -type l ! -writable; for f in $(git ls-files) "$HOME"/talk; do echo >> "$f" || exit; done; git status -s | wc -l; git checkout -q .; git commit -qm x --allow-empty && id -u';
  expect((await hf.listSessions({ user })).map(({ id }) => id).sort()).toEqual(
    [overlay, worktree, tornDown].sort(),
  );

  if (hasSandbox)
    for (const id of [overlay, worktree, tornDown]) {
      const { said } = await next(id, `${closed}; git reset -q --hard HEAD^`);
      const [changed, uid, ...more] = said.split("\n").map(Number);
      expect({ id, more, hasChanged: (changed ?? 0) > 0 }).toEqual({ id, more: [], hasChanged: true });
      // No task runs as root, even if root started its session.
      expect(uid).toBeGreaterThan(0);
    }
  // The session keeps the branch that it last published to, and adds to it.
  const tip = gitIn(main, "rev-parse", `holdfast/${overlay}/2`);
  expect(await next(overlay, `${talk}cat one two; echo 3 > three`)).toEqual({
    said: "2\n1\n2",
    branch: `holdfast/${overlay}/2`,
    outcome: "unverified",
  });
  expect(gitIn(main, "rev-parse", `holdfast/${overlay}/2^`)).toBe(tip);
  expect((await next(overlay, "cat three; ls *.log 2>/dev/null; echo i > j.log")).said).toBe("3");
  expect((await next(overlay, "cat j.log")).said).toBe("i");

  // The work of the failed task is carried, and published with the work of the next one.
  expect(await next(worktree, `${talk}cat two; echo 3 > three`)).toMatchObject({
    said: "2\n2",
    branch: `holdfast/${worktree}/1`,
  });
  expect(gitIn(main, "ls-tree", "--name-only", `holdfast/${worktree}/1`).split("\n")).toEqual(
    expect.arrayContaining(["three", "two"]),
  );

  // The torn-down session's files come from its snapshot, ignored ones included.
  expect((await next(tornDown, "cat one i.log; echo 2 > two")).said).toBe("1\ni");
  await hf.rewindSession(overlay, 1, { user });
  expect((await next(overlay, "cat one; ls two 2>&1 | wc -l")).said).toContain("1");
  const fork = await hf.forkSession(worktree, { user, atTurn: 1 });
  await fork.pause();
  for (const id of [overlay, worktree, tornDown, fork.id])
    expect((await hf.auditSession(id, { user })).findings, id).toEqual([]);
  await hf.gc();
  expect((await next(overlay, "cat one")).said).toBe("1");
});
