/**
 * `holdfast checks`: receipts with their tree and age, and which of them count.
 */
import { expect, it } from "vitest";
import { CheckedHome } from "../support/checked.ts";
import { runCliIn } from "../support/cli-in.ts";
import { commitFiles, gitIn } from "../support/repo.ts";

const CHECK = "{ name: test, run: 'ls | wc -l; test ! -e bad', paths: [a] }";

it("verify-2 holdfast checks counts receipts of the current tree and of a merge, not of a replaced tree", async () => {
  using home = new CheckedHome([CHECK], { a: "1\n" });
  const cli = async (...args: string[]) => {
    const { stdout, stderr, status } = await runCliIn(home.main, home.dir, args);
    return {
      rows: stdout
        .trim()
        .split("\n")
        .map((row) => row.split(/ {2,}/)),
      stdout,
      stderr,
      status,
    };
  };
  const { id, end } = await home.task("echo 2 > a; echo o > other; mkdir tests; echo t > tests/t");
  const tree = (name: string) => gitIn(home.main, "rev-parse", `${name}^{tree}`).slice(0, 12);
  const own = tree(end.branch ?? "");
  const first = await cli("checks", id);
  expect(first.rows).toEqual([
    ["CHECK", "RESULT", "TREE", "TOOK", "AGE", "COUNTS"],
    ["test", "PASS", own, expect.any(String), expect.stringMatching(/^\d+ \w+$/), "yes"],
  ]);
  expect(first.stderr).toMatch(/tests\/t/);
  expect(first.stderr).toMatch(/other/);

  commitFiles(home.main, { c1: "c\n" }, "by a person");
  expect(await cli("merge", id)).toMatchObject({ status: 0 });
  const merged = await cli("checks", id);
  expect(merged.rows.slice(1).map((row) => [row[2], row.at(-1)])).toEqual([
    [own, "yes"],
    [tree("main"), "for main"],
  ]);
  expect(merged.stderr).not.toContain("no longer count");

  const third = await home.task("echo 4 > a; echo m > more");
  const before = tree(third.end.branch ?? "");
  commitFiles(home.main, { c2: "c\n" }, "by a person");
  expect(await cli("rebase", third.id)).toMatchObject({ status: 0 });
  const rebased = await cli("checks", third.id);
  expect(rebased.rows.slice(1).map((row) => [row[2], row.at(-1)])).toEqual([[before, "no"]]);
  expect(rebased.stderr).toContain(`the tree is ${tree(third.end.branch ?? "")} by now`);
  const { receipts } = JSON.parse((await cli("checks", third.id, "--json")).stdout);
  expect(receipts).toMatchObject([
    { check: "test", counts: false, into: null, exitCode: 0, lane: "repo-fix" },
  ]);

  // Work that passed alone and fails when it is merged: the failed receipt and its output are kept, too.
  const { id: last } = await home.task("echo 5 > a");
  commitFiles(home.main, { bad: "b\n" }, "by a person");
  expect(await cli("merge", last)).toMatchObject({ status: 1 });
  const refused = await cli("checks", last);
  expect(refused.rows.slice(1).map((row) => [row[1], row.at(-1)])).toEqual([
    ["PASS", "yes"],
    ["FAIL", "for main"],
  ]);
  expect((await cli("checks", last, "--output", "test")).stdout).toBe("7\n");
  expect((await cli("checks", last, "--output", "none")).status).toBe(4);
});
