/**
 * Holdfast reads the gitdir of an agent as plain files, and moves the branches in it.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentGit } from "../../src/capsule/index.ts";
import { CapsuleLab, inside } from "../support/capsules.ts";
import { commitFiles, gitIn } from "../support/repo.ts";

describe("an agent's own git", () => {
  it("files-1 yields no commit for a HEAD or ref that leads outside or is not a file, and nothing outside is written", async () => {
    await using lab = new CapsuleLab("worktree");
    const id = gitIn(lab.main, "rev-parse", "HEAD");
    writeFileSync(lab.temp.join("outside"), `${id}\n`);
    const capsule = await lab.create();
    const { root } = await capsule.attach();
    const own = new AgentGit(root);
    expect(own.head.commit).toBe(id);
    const outside = lab.temp.join("outside").slice(1);
    const up = "../".repeat(12);
    // Characters that become a dot when only their last byte is taken.
    const wide = "\u012e\u012e/".repeat(30);
    for (const plant of [
      `echo 'ref: refs/heads/${up}${outside}' > .git/HEAD`,
      `echo 'ref: refs/heads/${wide}${outside}' > .git/HEAD`,
      "printf 'ref: refs/heads/a\\0b' > .git/HEAD",
      `echo 'ref: refs/heads/${"long".repeat(100)}' > .git/HEAD`,
      `rm .git/HEAD; ln -s ${lab.temp.join("outside")} .git/HEAD`,
      "rm .git/HEAD; mkfifo .git/HEAD",
      "rm -r .git/HEAD; mkdir .git/HEAD",
      `rm -r .git/HEAD; echo 'ref: refs/heads/x' > .git/HEAD; ln -s ${lab.temp.join("outside")} .git/refs/heads/x`,
      `rm -r .git/refs; ln -s ${lab.temp.path} .git/refs; echo 'ref: refs/heads/outside' > .git/HEAD`,
    ]) {
      await inside(capsule, plant);
      expect(own.head.commit, plant).toBeUndefined();
    }
    const before = readdirSync(lab.temp.path);
    own.refreshRefs([{ name: "refs/heads/evil", id }]);
    expect(readdirSync(lab.temp.path)).toEqual(before);
    await inside(
      capsule,
      "rm .git/refs; mkdir .git/refs; rm .git/packed-refs; ln -s /etc/passwd .git/packed-refs",
    );
    own.refreshRefs([{ name: "refs/heads/good", id }]);
    expect(await inside(capsule, "cat .git/packed-refs")).toContain("refs/heads/good");
    // A packed-refs or refs of an unexpected form is left as it is, and causes no failure.
    await inside(capsule, "rm .git/packed-refs; mkdir -p .git/packed-refs/x");
    own.refreshRefs([{ name: "refs/heads/other", id }]);
    await inside(capsule, "rm -r .git/packed-refs; mkdir -p .git/refs/$(printf 'd/%.0s' $(seq 1500))");
    own.refreshRefs([{ name: "refs/heads/more", id }]);
    expect(await inside(capsule, "ls -a .git")).not.toContain("packed-refs");
  });

  it("keeps branch names byte for byte, and moves branches that are only in packed-refs", async () => {
    await using lab = new CapsuleLab("worktree");
    const id = gitIn(lab.main, "rev-parse", "HEAD");
    gitIn(lab.main, "branch", "gr\u00f6\u00dfe");
    const capsule = await lab.create();
    const { root } = await capsule.attach();
    const own = new AgentGit(root);
    await inside(
      capsule,
      "git switch -q gr\u00f6\u00dfe; git switch -qc \u4e2d/\u6587; git pack-refs --all --prune",
    );
    const { branch, commit } = own.head;
    expect(commit).toBe(id);
    const next = commitFiles(lab.main, { "b.txt": "b\n" }, "the next");
    own.moveBranch(branch ?? "", next, readFileSync(join(root, ".git/index")));
    expect(await inside(capsule, "git rev-parse HEAD; git symbolic-ref HEAD")).toBe(
      `${next}\nrefs/heads/\u4e2d/\u6587`,
    );
    own.refreshRefs([{ name: "refs/heads/gr\u00f6\u00dfe", id: next }]);
    expect(await inside(capsule, "git rev-parse gr\u00f6\u00dfe")).toBe(next);
  });
});
