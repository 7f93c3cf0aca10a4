/**
 * Three sessions of one repo: a person is told before which will collide, merges two, and is refused the third.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { runCliIn } from "../support/cli-in.ts";
import { commitFiles, fingerprint, gitIn } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];

it("conflicts tells who will collide; two merge, and the third, which collides, changes nothing", async () => {
  using home = new TaskHome({ "a.txt": "1\n2\n3\n4\n5\n", "b.txt": "b\n" });
  const cli = (...args: string[]) => runCliIn(home.main, home.dir, args);
  const run = (name: string, script: string) => cli("run", ...wall, "--name", name, "--", "sh", "-c", script);
  await run("top", "sed -i s/1/one/ a.txt");
  await run("bottom", "sed -i s/5/five/ a.txt");
  await run("both", "sed -i 's/1/uno/; s/5/cinco/' a.txt");
  expect((await run("broken", "echo broken > b.txt; exit 1")).status).toBe(1);
  commitFiles(home.main, { "b.txt": "by a person\n" }, "by a person");
  const told = (await cli("conflicts")).stdout.split("\n");
  expect(told[0]).toMatch(/4 sessions with work that is not merged$/);
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
    stdout: expect.stringMatching(/^main is at [0-9a-f]{12}, with 1 commit of bottom, unverified\n$/),
  });
  expect((await cli("show", "bottom")).stdout).not.toContain("holdfast merge");
  expect(JSON.parse((await cli("merge", "top", "--json")).stdout)).toMatchObject({
    into: "main",
    isNew: true,
  });
  const before = fingerprint(home.main);
  expect(await cli("merge", "both")).toMatchObject({
    status: 8,
    stderr: expect.stringMatching(/^holdfast: merge_conflicts: the work and main change the same: a\.txt \(/),
  });
  expect(await cli("merge", "broken")).toMatchObject({ status: 5 });
  expect(await cli("merge", "both", "--into", "nowhere")).toMatchObject({ status: 4 });
  expect(fingerprint(home.main)).toBe(before);
  expect(gitIn(home.main, "rev-list", "--count", "--merges", "main")).toBe("0");
  expect(readFileSync(join(home.main, "a.txt"), "utf8")).toBe("one\n2\n3\n4\nfive\n");
});
