/**
 * Exact trees: whatever an agent left in its capsule, the directory has the files of a commit of its work,
 * and a gitdir that needs nothing of the home. Git itself is the judge: `git add --all --force` must give the
 * same tree.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Capsule, makeExactTree, makeWork, userIdentity } from "../../src/capsule/index.ts";
import { CapsuleLab, inside, limits } from "../support/capsules.ts";
import { gitIn } from "../support/repo.ts";

const files = {
  ".gitignore": "*.log\nbuilt/\n",
  "a.txt": "one\n",
  "dir/b": "b\n",
  "dir/c": "c\n",
  "dir/d": "d\n",
};

async function exactTreeOf(lab: CapsuleLab, capsule: Capsule, { without = "" } = {}) {
  const { repo } = capsule;
  const snapshot = await capsule.snapshot("1", limits);
  const store = await capsule.store();
  const identity = await userIdentity(repo);
  const work = await makeWork({ repo, store, ...snapshot, identity, message: "Work\n", atMs: 0 });
  const directory = lab.temp.join(`exact-${capsule.spec.session}`);
  const contents = new Map([...snapshot.contents].filter(([path]) => path !== without));
  const { manifest } = snapshot;
  await makeExactTree({ directory, repo, store, snapshot: { manifest, contents }, work, branch: "mine" });
  return { directory, tree: work.tree };
}

function treeOfAll(directory: string): string {
  gitIn(directory, "add", "--all", "--force");
  return gitIn(directory, "write-tree");
}

describe("an exact tree", () => {
  it("exact-tree-1 has no ignored file, none that git can't store, and none that the task removed", async () => {
    await using lab = new CapsuleLab("worktree", { files });
    const capsule = await lab.create();
    await inside(
      capsule,
      `echo two > a.txt; echo new > new; ln -s new link; mkdir built; echo x > built/x; echo y > y.log
       rm dir/b; mkfifo dir/b; rm dir/c
       git rm -q --cached dir/d; echo dir/d >> .gitignore; echo changed > dir/d
       git init -q nested; echo n > nested/n; mkdir empty`,
    );
    const { directory, tree } = await exactTreeOf(lab, capsule);
    expect(readdirSync(directory).sort()).toEqual([
      ".git",
      ".gitignore",
      "a.txt",
      "dir",
      "link",
      "nested",
      "new",
    ]);
    expect(readdirSync(join(directory, "dir"))).toEqual([]);
    expect(readdirSync(join(directory, "nested"))).toEqual(["n"]);
    expect(treeOfAll(directory)).toBe(tree);
  });

  it("exact-tree-1 has a gitdir without the agent's hooks, config, refs and commits", async () => {
    await using lab = new CapsuleLab("worktree", { files });
    const capsule = await lab.create();
    const canary = lab.temp.join("canary");
    const store = join(capsule.repo.dir, "store.git", "objects");
    await inside(
      capsule,
      `echo two > a.txt; git -c user.name=x -c user.email=x@x commit -qam theirs
       mkdir -p .git/hooks; printf '#!/bin/sh\\necho hook >> ${canary}\\n' > .git/hooks/pre-commit
       chmod +x .git/hooks/pre-commit; git config core.fsmonitor 'echo monitor >> ${canary}; false'
       git config filter.x.clean 'echo filter >> ${canary}; cat'; echo '* filter=x' > .git/info/attributes
       echo '${store}' >> .git/objects/info/alternates; git branch other`,
    );
    const { directory } = await exactTreeOf(lab, capsule);
    expect(readFileSync(join(directory, ".git", "objects", "info", "alternates"), "utf8")).toBe(
      `${join(lab.main, ".git", "objects")}\n`,
    );
    expect(gitIn(directory, "for-each-ref", "--format=%(refname)")).toBe("refs/heads/main\nrefs/heads/mine");
    expect(gitIn(directory, "rev-parse", "HEAD")).toBe(gitIn(lab.main, "rev-parse", "HEAD"));
    expect(gitIn(directory, "status", "--porcelain")).toBe(" M a.txt");
    gitIn(directory, "commit", "-qam", "a person's");
    expect(existsSync(canary)).toBe(false);
  });

  it("exact-tree-1 has no objects of other tasks, and works after the home was deleted", async () => {
    await using lab = new CapsuleLab("worktree", { files });
    const [capsule, other] = [await lab.create(), await lab.create()];
    await inside(other, "echo unpublished > secret");
    const { contents } = await other.snapshot("1", limits);
    await inside(capsule, "echo two > a.txt; mkdir deep; echo new > deep/new");
    const { directory, tree } = await exactTreeOf(lab, capsule);
    rmSync(lab.home, { recursive: true });
    expect(gitIn(directory, "show", `${tree}:deep/new`)).toBe("new");
    expect(() => gitIn(directory, "cat-file", "-e", contents.get("secret") ?? "")).toThrow();
    expect(gitIn(directory, "fsck", "--strict")).not.toMatch(/missing|error/);
    expect(treeOfAll(directory)).toBe(tree);
    gitIn(directory, "commit", "-qm", "a person's");
    expect(gitIn(directory, "log", "--format=%s")).toBe("a person's\nthe first");
  });

  it("leaves no directory behind if it can't be made", async () => {
    await using lab = new CapsuleLab("worktree", { files });
    const capsule = await lab.create();
    await inside(capsule, "echo new > new");
    await expect(exactTreeOf(lab, capsule, { without: "new" })).rejects.toMatchObject({
      code: "snapshot_invalid",
    });
    expect(readdirSync(lab.temp.path).filter((name) => name.startsWith("exact-"))).toEqual([]);
  });

  it("exact-tree-1 is what git would add, after random edits", async () => {
    const path = fc
      .array(fc.constantFrom("a.txt", "dir", "b", "x.log", "built", "n\nl"), { minLength: 1, maxLength: 3 })
      .map((parts) => parts.join("/"));
    const edit = fc.record({ path, how: fc.constantFrom("write", "link", "remove", "mkdir") });
    await using lab = new CapsuleLab("worktree", { files });
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 8 }), async (edits) => {
        const capsule = await lab.create();
        const { root } = await capsule.attach();
        for (const { path: name, how } of edits) {
          const at = join(root, name);
          try {
            if (how === "remove") rmSync(at, { recursive: true });
            else mkdirSync(how === "mkdir" ? at : dirname(at), { recursive: true });
            if (how === "write") writeFileSync(at, name);
            if (how === "link") symlinkSync("a.txt", at);
          } catch {
            // Some edits are impossible, such as a path below a file.
          }
        }
        const { directory, tree } = await exactTreeOf(lab, capsule);
        expect(treeOfAll(directory)).toBe(tree);
        await lab.remove(capsule);
      }),
      { numRuns: 8 },
    );
  });
});
