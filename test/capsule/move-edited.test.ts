/**
 * Moving a branch whose checkout a person edits at that very moment, or has told git not to look at: no edit
 * of theirs is lost.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findTarget, finishMove, moveTarget, replay } from "../../src/capsule/index.ts";
import { realDisk } from "../../src/util/index.ts";
import { atMs, identity, MergeLab, replayed } from "../support/merging.ts";
import { gitIn } from "../support/repo.ts";

const MINE = "mine, not committed\n";

async function moveIn(lab: MergeLab, onMove: () => Promise<void> = async () => {}) {
  lab.commitOn("work", { "a.txt": "one\n2\n3\n4\n5\n", "new.txt": "new\n" });
  const { repo, store } = await lab.open();
  const target = await findTarget(repo);
  const tip = lab.idOf("work");
  const { commit } = replayed(await replay({ repo, store, tip, onto: target.tip, identity, atMs }));
  return { repo, store, disk: realDisk, ...target, commit, reason: "x", identity, onMove };
}

const at = (lab: MergeLab, path: string) => join(lab.main, path);

describe("move-1: an edit that git had not seen", () => {
  it.each([
    ["was saved after the last look", "a.txt"],
    ["is a file at a path that the merge adds", "new.txt"],
  ])("%s: the merge is refused, and the edit is kept", async (_, path) => {
    using lab = new MergeLab();
    const move = await moveIn(lab, async () => writeFileSync(at(lab, path), MINE));
    const before = lab.idOf("main");
    await expect(moveTarget(move)).rejects.toMatchObject({
      code: "merge_refused",
      message: expect.stringContaining("all of them are as they were"),
    });
    expect(readFileSync(at(lab, path), "utf8")).toBe(MINE);
    expect(existsSync(at(lab, "new.txt"))).toBe(path === "new.txt");
    expect(lab.idOf("main")).toBe(before);
  });

  it("is in a file that git takes for unchanged: the merge is refused, and the edit is kept", async () => {
    using lab = new MergeLab();
    const move = await moveIn(lab);
    gitIn(lab.main, "update-index", "--assume-unchanged", "a.txt");
    writeFileSync(at(lab, "a.txt"), MINE);
    await expect(moveTarget(move)).rejects.toMatchObject({ code: "merge_refused" });
    expect(readFileSync(at(lab, "a.txt"), "utf8")).toBe(MINE);
    expect(existsSync(at(lab, "new.txt"))).toBe(false);
  });

  it("is in a file that git takes for unchanged, and a killed git left its lock: nothing is taken back", async () => {
    using lab = new MergeLab();
    const move = await moveIn(lab);
    gitIn(lab.main, "update-index", "--assume-unchanged", "a.txt");
    writeFileSync(at(lab, "a.txt"), MINE);
    writeFileSync(at(lab, ".git/index.lock"), "");
    await finishMove(move);
    expect(readFileSync(at(lab, "a.txt"), "utf8")).toBe(MINE);
  });
});

describe("a branch to merge into", () => {
  it("that is another name of the checkout's branch moves with the checkout", async () => {
    using lab = new MergeLab();
    gitIn(lab.main, "symbolic-ref", "refs/heads/alias", "refs/heads/main");
    const move = await moveIn(lab);
    const { repo } = move;
    const target = await findTarget(repo, "alias");
    expect(target).toEqual({ branch: "main", tip: lab.idOf("main") });
    expect(await moveTarget({ ...move, ...target })).toBe(true);
    expect(gitIn(lab.main, "status", "--porcelain")).toBe("");
    expect(readFileSync(at(lab, "new.txt"), "utf8")).toBe("new\n");
  });

  it.each(["a submodule", "a repo whose gitdir is elsewhere"])(
    "is found in %s, and moves with its files",
    async (what) => {
      using lab = new MergeLab();
      const inner = lab.join(what === "a submodule" ? "outer/inner" : "apart");
      if (what === "a submodule") {
        gitIn(lab.main, "init", "-q", lab.join("outer"));
        const add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", lab.main, "inner"];
        gitIn(lab.join("outer"), ...add);
      } else gitIn(lab.main, "clone", "-q", "--separate-git-dir", lab.join("apart.git"), lab.main, inner);
      const { repo, store } = await lab.open(inner);
      const target = await findTarget(repo);
      writeFileSync(join(inner, "a.txt"), "one\n2\n3\n4\n5\n");
      gitIn(inner, "checkout", "-q", "-b", "work");
      gitIn(inner, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qam", "work");
      gitIn(inner, "checkout", "-q", target.branch);
      const tip = gitIn(inner, "rev-parse", "work");
      const { commit } = replayed(await replay({ repo, store, tip, onto: target.tip, identity, atMs }));
      const move = { repo, store, disk: realDisk, ...target, commit, reason: "x", identity };
      expect(await moveTarget({ ...move, onMove: async () => {} })).toBe(true);
      expect(readFileSync(join(inner, "a.txt"), "utf8")).toBe("one\n2\n3\n4\n5\n");
      expect(gitIn(inner, "status", "--porcelain")).toBe("");
    },
  );

  it("does not exist yet in a repo without a commit: the refusal says how to make it", async () => {
    using lab = new MergeLab();
    const empty = lab.join("empty");
    gitIn(lab.main, "init", "-q", "-b", "main", empty);
    const { repo } = await lab.open(empty);
    await expect(findTarget(repo)).rejects.toMatchObject({
      code: "branch_not_found",
      message: expect.stringMatching(/main of .* has no commit yet: .*git merge/),
    });
  });
});
