/**
 * Three sessions of one repo: a person is told in advance which will collide, merges two, and is refused the
 * third.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { runCliIn } from "../support/cli-in.ts";
import { commitFiles, fingerprint, gitIn } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];

it("conflicts names the sessions that will collide, and a refused merge of one changes nothing", async () => {
  using home = new TaskHome({ "a.txt": "1\n2\n3\n4\n5\n", "b.txt": "b\n" });
  const cli = (...args: string[]) => runCliIn(home.main, home.dir, args);
  const run = (name: string, script: string) => cli("run", ...wall, "--name", name, "--", "sh", "-c", script);
  await run("top", "sed -i s/1/one/ a.txt");
  await run("bottom", "sed -i s/5/five/ a.txt");
  await run("both", "sed -i 's/1/uno/; s/5/cinco/' a.txt");
  expect((await run("broken", "echo broken > b.txt; exit 1")).status).toBe(1);
  commitFiles(home.main, { "b.txt": "by a person\n" }, "by a person");
  const told = (await cli("conflicts")).stdout.split("\n");
  expect(told[0]).toMatch(/4 sessions with unmerged work$/);
  expect(told.slice(1).filter(Boolean).sort()).toEqual([
    "  bottom and both: a.txt",
    "  broken and main: b.txt",
    "  top and both: a.txt",
  ]);
  expect(JSON.parse((await cli("conflicts", "--json")).stdout)).toMatchObject({
    repos: [{ into: "main", sessions: 4 }],
  });
  expect((await cli("show", "bottom")).stdout).toMatch(
    /next +holdfast diff bottom\n +holdfast merge bottom$/m,
  );
  expect(await cli("merge", "bottom")).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^main is now at [0-9a-f]{12}, with 1 commit from bottom, unverified\n$/),
  });
  expect((await cli("show", "bottom")).stdout).not.toContain("holdfast merge");
  expect(JSON.parse((await cli("merge", "top", "--json")).stdout)).toMatchObject({
    into: "main",
    isNew: true,
  });
  const before = fingerprint(home.main);
  expect(await cli("merge", "both")).toMatchObject({
    status: 8,
    stderr: expect.stringMatching(/^holdfast: merge_conflicts: the work and main both change a\.txt: /),
  });
  expect(await cli("merge", "broken")).toMatchObject({ status: 5 });
  expect(await cli("merge", "both", "--into", "nowhere")).toMatchObject({ status: 4 });
  expect(fingerprint(home.main)).toBe(before);
  expect(gitIn(home.main, "rev-list", "--count", "--merges", "main")).toBe("0");
  expect(readFileSync(join(home.main, "a.txt"), "utf8")).toBe("one\n2\n3\n4\nfive\n");
});

it("merge --keep-commits takes the agent's commits, names their authors, and refuses contradicting flags", async () => {
  using home = new TaskHome({ "a.txt": "1\n" });
  const cli = (...args: string[]) => runCliIn(home.main, home.dir, args);
  const script =
    "echo 2 > a.txt; git commit -qam first; echo 3 > a.txt; git -c user.name=\"$(printf 'Eve\\033[31m')\" -c user.email=e@x commit -qam second; echo r > rest";
  await cli("run", ...wall, "--name", "own", "--", "sh", "-c", script);
  const before = fingerprint(home.main);
  for (const wrong of [["--keep-commits", "--squash"], ["--keep-commits", "--resolve"], ["--reviewed"]])
    expect(await cli("merge", "own", ...wrong)).toMatchObject({ status: 2 });
  expect(fingerprint(home.main)).toBe(before);
  // The author's name has a control character in it, so a person has to review it first.
  expect(await cli("merge", "own", "--keep-commits")).toMatchObject({ status: 3 });
  expect(fingerprint(home.main)).toBe(before);
  const merged = await cli("merge", "own", "--keep-commits", "--reviewed");
  expect(merged, merged.stderr).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(
      /^main is now at [0-9a-f]{12}, with 3 commits from own, unverified\n {2}authors {4}Eve.*<e@x>: as the agent named them\n$/,
    ),
  });
  expect(merged.stdout).not.toContain("\u001b");
  expect(gitIn(home.main, "log", "--format=%s", "--reverse").split("\n").slice(1)).toEqual([
    "first",
    "second",
    "Work that the agent did not commit",
  ]);
});
