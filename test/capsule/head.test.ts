/**
 * Reading a checkout's HEAD without git gives what git says, or nothing.
 */
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readHead } from "../../src/capsule/repo/head.ts";
import { commitFiles, gitIn } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

const placeOf = (dir: string) => ({
  headDir: gitIn(dir, "rev-parse", "--absolute-git-dir"),
  gitDir: gitIn(dir, "rev-parse", "--path-format=absolute", "--git-common-dir"),
});

describe("the HEAD of a checkout", () => {
  it("is read as git reads it: on a branch, detached and in a linked working tree", () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const agrees = (dir: string) => expect(readHead(placeOf(dir))).toBe(gitIn(dir, "rev-parse", "HEAD"));
    agrees(home.main);
    commitFiles(home.main, { "a.txt": "two\n" }, "the second");
    agrees(home.main);
    const other = home.join("other");
    gitIn(home.main, "worktree", "add", "-q", "-b", "a/deep/branch", other, "HEAD~1");
    agrees(other);
    gitIn(home.main, "checkout", "-q", "--detach", "HEAD~1");
    agrees(home.main);
  });

  it("is left to git if its ref is packed, missing or malformed, or leads elsewhere", () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const place = placeOf(home.main);
    gitIn(home.main, "pack-refs", "--all");
    expect(readHead(place)).toBeUndefined();
    for (const head of [
      "ref: refs/heads/../../config\n",
      "ref: refs/tags/x\n",
      "nonsense\n",
      `${"0".repeat(39)}\n`,
    ]) {
      writeFileSync(join(place.headDir, "HEAD"), head);
      expect(readHead(place), head).toBeUndefined();
    }
    rmSync(join(place.headDir, "HEAD"));
    expect(readHead(place)).toBeUndefined();
    const unborn = home.join("unborn");
    execFileSync("git", ["init", "-q", unborn]);
    expect(readHead(placeOf(unborn))).toBeUndefined();
  });
});
