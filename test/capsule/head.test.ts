/**
 * Reading a checkout's HEAD and the tree of its commit without git gives what git says, or nothing.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readLooseTree } from "../../src/capsule/git/loose-object.ts";
import { readHead } from "../../src/capsule/repo/head.ts";
import { commitFiles, gitIn, makeRepo } from "../support/repo.ts";
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

describe("the tree of a commit", () => {
  it.each(["sha1", "sha256"] as const)("is read as git reads it, with %s", (format) => {
    using home = new TaskHome({});
    const repo = home.join("repo");
    execFileSync("git", ["init", "-q", `--object-format=${format}`, repo]);
    makeRepo(repo);
    commitFiles(repo, { "a.txt": "two\n" }, "the second");
    for (const name of ["HEAD", "HEAD~1"]) {
      const [id, tree] = gitIn(repo, "rev-parse", name, `${name}^{tree}`).split("\n");
      expect(readLooseTree(join(repo, ".git", "objects"), format, id ?? "")).toBe(tree);
    }
  });

  it("is left to git if the commit is packed, damaged, missing or no commit", () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const [commit = "", tree = ""] = gitIn(home.main, "rev-parse", "HEAD", "HEAD^{tree}").split("\n");
    const objects = join(home.main, ".git", "objects");
    const read = (id: string) => readLooseTree(objects, "sha1", id);
    const file = (id: string) => join(objects, id.slice(0, 2), id.slice(2));
    expect(read(commit)).toBe(tree);
    expect(read(tree)).toBeUndefined();
    chmodSync(file(commit), 0o644);
    const bytes = readFileSync(file(commit));
    for (const damaged of [readFileSync(file(tree)), bytes.subarray(0, 20), Buffer.from("nonsense")]) {
      writeFileSync(file(commit), damaged);
      expect(read(commit)).toBeUndefined();
    }
    writeFileSync(file(commit), bytes);
    gitIn(home.main, "gc", "-q");
    expect(read(commit)).toBeUndefined();
    expect(read("f".repeat(40))).toBeUndefined();
  });
});
