/**
 * Moving a user's branch forward, and with it the working tree that has it checked out, or refusing with a
 * reason.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { assertMovable, findTarget, finishMove, moveTarget, replay } from "../../src/capsule/index.ts";
import { realDisk } from "../../src/util/index.ts";
import { atMs, identity, MergeLab, replayed } from "../support/merging.ts";
import { fingerprint, gitIn, listTree } from "../support/repo.ts";

interface Wanted {
  readonly into?: string;
  readonly path?: string;
  readonly onMove?: () => Promise<void>;
}

async function merge(lab: MergeLab, { into, path, onMove = async () => {} }: Wanted = {}) {
  const { repo, store } = await lab.open(path);
  const target = await findTarget(repo, into);
  const tip = lab.idOf("work");
  const { commit } = replayed(await replay({ repo, store, tip, onto: target.tip, identity, atMs }));
  const reason = "holdfast: merged";
  const move = { repo, store, disk: realDisk, ...target, commit, reason, identity, onMove };
  return { commit, isMoved: await moveTarget(move), move };
}

const refused = (message: RegExp) => ({ code: "merge_refused", message: expect.stringMatching(message) });
const at = (lab: MergeLab, path: string) => readFileSync(join(lab.main, path), "utf8");

/** Made once and copied, which is faster than making it with git each time. */
const template = new MergeLab();
template.commitOn("work", { "a.txt": "one\n2\n3\n4\n5\n", "dir/new.txt": "new\n" });
template.commitOn("main", { "c.txt": "c\n" });
afterAll(() => template[Symbol.dispose]());

const labWithWork = () => new MergeLab(template);

/** Everything but what a merge may change. */
function others(lab: MergeLab): Map<string, string> {
  const isChanged = (path: string) =>
    /^(a\.txt|dir($|\/)|\.git\/(objects|refs\/heads|index$|logs))/.test(path);
  return listTree(lab.main, isChanged);
}

describe("a user's branch", () => {
  it("move-1 moves forward with its checkout: filters run, hooks and monitors do not", async () => {
    using lab = labWithWork();
    for (const hook of [
      "post-merge",
      "post-checkout",
      "reference-transaction",
      "pre-merge-commit",
      "post-index-change",
    ]) {
      writeFileSync(join(lab.main, ".git/hooks", hook), `#!/bin/sh\necho ran >> ${lab.join("canary")}\n`);
      chmodSync(join(lab.main, ".git/hooks", hook), 0o755);
    }
    gitIn(lab.main, "config", "core.fsmonitor", `echo ran >> ${lab.join("canary")}; false`);
    gitIn(lab.main, "config", "merge.verifySignatures", "true");
    gitIn(lab.main, "config", "gpg.program", `${lab.join("canary-gpg")}`);
    gitIn(lab.main, "config", "filter.up.clean", "tr A-Z a-z");
    gitIn(lab.main, "config", "filter.up.smudge", "tr a-z A-Z");
    lab.commitOn("work", { ".gitattributes": "*.up filter=up\n", "x.up": "upper\n" });
    writeFileSync(join(lab.main, "untracked"), "mine\n");
    rmSync(lab.join("canary"), { force: true });
    const before = others(lab);
    before.delete(".gitattributes");
    const { commit, isMoved } = await merge(lab);
    expect(isMoved).toBe(true);
    expect(lab.idOf("main")).toBe(commit);
    expect(existsSync(lab.join("canary"))).toBe(false);
    expect(at(lab, "x.up")).toBe("UPPER\n");
    expect(at(lab, "a.txt")).toBe("one\n2\n3\n4\n5\n");
    const after = others(lab);
    for (const path of ["x.up", ".gitattributes"]) after.delete(path);
    expect(after).toEqual(before);
    gitIn(lab.main, "config", "--unset", "core.fsmonitor");
    expect(gitIn(lab.main, "status", "--porcelain")).toBe("?? untracked");
    expect(gitIn(lab.main, "reflog", "-1", "--format=%gs", "HEAD")).toBe("holdfast: merged");
    expect(gitIn(lab.main, "fsck", "--strict", "--no-dangling")).toBe("");
  });

  it.each([
    [
      "an unstaged change",
      (lab: MergeLab) => writeFileSync(join(lab.main, "b.txt"), "mine\n"),
      /not clean, b\.txt changed/,
    ],
    [
      "a staged change",
      (lab: MergeLab) => {
        writeFileSync(join(lab.main, "staged"), "mine\n");
        gitIn(lab.main, "add", "staged");
      },
      /not clean, staged changed/,
    ],
    [
      "an untracked file in the way",
      (lab: MergeLab) => {
        mkdirSync(join(lab.main, "dir"));
        writeFileSync(join(lab.main, "dir/new.txt"), "mine\n");
      },
      /would overwrite dir\/new\.txt, which is not committed in /,
    ],
    [
      "an untracked file in the way of a directory",
      (lab: MergeLab) => writeFileSync(join(lab.main, "dir"), "mine\n"),
      /would overwrite dir,/,
    ],
    [
      "an ignored file in the way",
      (lab: MergeLab) => {
        mkdirSync(join(lab.main, "dir"));
        writeFileSync(join(lab.main, "dir/new.txt"), "mine\n");
        writeFileSync(join(lab.main, ".git/info/exclude"), "dir\n");
      },
      /would overwrite dir\/new\.txt/,
    ],
    [
      "a rebase under way",
      (lab: MergeLab) => {
        lab.commitOn("other", { "b.txt": "other\n" });
        lab.commitOn("main", { "b.txt": "main\n" });
        expect(() => gitIn(lab.main, "rebase", "-q", "other")).toThrow();
      },
      /a rebase is under way/,
    ],
    [
      "a merge under way",
      (lab: MergeLab) => {
        lab.commitOn("other", { "b.txt": "other\n" });
        gitIn(lab.main, "merge", "-q", "--no-commit", "--no-ff", "other");
      },
      /a merge is under way/,
    ],
    [
      "a bisect under way",
      (lab: MergeLab) => {
        gitIn(lab.main, "bisect", "start", "main", "main~1");
      },
      /a bisect is under way/,
    ],
    [
      "a locked index",
      (lab: MergeLab) => writeFileSync(join(lab.main, ".git/index.lock"), ""),
      /the files of .* could not be updated/,
    ],
    [
      "a lock on the branch",
      (lab: MergeLab) => writeFileSync(join(lab.main, ".git/refs/heads/main.lock"), ""),
      /could not be moved/,
    ],
  ] as const)("does not move, and nothing changes, if the checkout has %s", async (_, prepare, message) => {
    using lab = labWithWork();
    prepare(lab);
    const before = fingerprint(lab.main);
    const files = listTree(lab.main, (path) => path.startsWith(".git/objects"));
    await expect(merge(lab, { into: "main" })).rejects.toMatchObject(refused(message));
    expect(fingerprint(lab.main)).toBe(before);
    expect(listTree(lab.main, (path) => path.startsWith(".git/objects"))).toEqual(files);
  });

  it("moves with the linked working tree that has it checked out, and leaves the main checkout alone", async () => {
    using lab = labWithWork();
    gitIn(lab.main, "checkout", "-q", "-b", "elsewhere");
    gitIn(lab.main, "worktree", "add", "-q", lab.join("linked"), "main");
    const before = others(lab);
    const head = gitIn(lab.main, "rev-parse", "HEAD");
    const { commit } = await merge(lab, { into: "main" });
    expect(readFileSync(lab.join("linked/dir/new.txt"), "utf8")).toBe("new\n");
    expect(gitIn(lab.join("linked"), "status", "--porcelain")).toBe("");
    expect(gitIn(lab.join("linked"), "rev-parse", "HEAD")).toBe(commit);
    expect(gitIn(lab.main, "rev-parse", "HEAD")).toBe(head);
    expect(gitIn(lab.main, "status", "--porcelain")).toBe("");
    for (const path of others(lab).keys())
      if (!path.includes("worktrees/")) expect(before.has(path)).toBe(true);
    // A working tree that is gone may come back, so the branch must not move without it.
    rmSync(lab.join("linked"), { recursive: true });
    const { repo } = await lab.open();
    await expect(assertMovable(repo, "main")).rejects.toMatchObject(refused(/which does not exist/));
  });

  it("moves by its ref alone in a bare repo, or if nothing has it checked out", async () => {
    using lab = labWithWork();
    gitIn(lab.main, "checkout", "-q", "-b", "elsewhere");
    writeFileSync(join(lab.main, "b.txt"), "dirty, and on another branch\n");
    const { commit } = await merge(lab, { into: "main" });
    expect(lab.idOf("main")).toBe(commit);
    expect(gitIn(lab.main, "status", "--porcelain")).toBe(" M b.txt");
    gitIn(lab.path, "clone", "-q", "--bare", lab.main, lab.join("bare.git"));
    gitIn(lab.join("bare.git"), "update-ref", "refs/heads/main", lab.idOf("main~1"));
    gitIn(lab.join("bare.git"), "symbolic-ref", "HEAD", "refs/heads/main");
    await merge(lab, { path: lab.join("bare.git") });
    expect(gitIn(lab.join("bare.git"), "log", "-1", "--format=%s", "main")).toBe("on work");
  });

  it("has to exist, and can't be another kind of ref or a session's own branch", async () => {
    using lab = labWithWork();
    gitIn(lab.main, "branch", "holdfast/x");
    for (const into of ["nothing", "main~1", "HEAD", "-x", "a b", ""])
      await expect(merge(lab, { into })).rejects.toMatchObject({ code: "branch_not_found" });
    await expect(merge(lab, { into: "holdfast/x" })).rejects.toMatchObject(refused(/a session's own branch/));
    gitIn(lab.main, "checkout", "-q", "--detach");
    await expect(merge(lab)).rejects.toMatchObject({ code: "branch_not_found", message: /on no branch/ });
  });

  it("is left alone if it moved in the meantime", async () => {
    using lab = labWithWork();
    const { repo, store } = await lab.open();
    const target = await findTarget(repo);
    const tip = lab.idOf("work");
    const { commit } = replayed(await replay({ repo, store, tip, onto: target.tip, identity, atMs }));
    lab.commitOn("main", { "d.txt": "d\n" });
    const before = fingerprint(lab.main);
    const onMove = () => Promise.reject(new Error("it was not to be moved"));
    const move = { repo, store, disk: realDisk, ...target, commit, reason: "x", identity, onMove };
    expect(await moveTarget(move)).toBe(false);
    expect(fingerprint(lab.main)).toBe(before);
  });

  it("is locked while files are updated; a failure leaves it unmoved, and a move that was cut off is finished", async () => {
    using lab = labWithWork();
    const before = lab.idOf("main");
    const onMove = async () => {
      expect(existsSync(join(lab.main, ".git/refs/heads/main.lock"))).toBe(true);
      expect(() => gitIn(lab.main, "update-ref", "refs/heads/main", "work")).toThrow();
      throw new Error("the record was not written");
    };
    await expect(merge(lab, { onMove })).rejects.toThrow("the record was not written");
    expect(lab.idOf("main")).toBe(before);
    expect(gitIn(lab.main, "status", "--porcelain")).toBe("");
    const { repo, store } = await lab.open();
    const { commit } = replayed(
      await replay({ repo, store, tip: lab.idOf("work"), onto: before, identity, atMs }),
    );
    const cut = { repo, disk: realDisk, branch: "main", commit, reason: "x", identity };
    expect(await finishMove(cut)).toBe(false);
    // As after a kill: the files were updated, but the branch was not moved.
    gitIn(lab.main, "read-tree", "-m", "-u", before, commit);
    await expect(assertMovable(repo, "main")).rejects.toMatchObject(refused(/not clean/));
    expect(await finishMove(cut)).toBe(true);
    expect(lab.idOf("main")).toBe(commit);
    expect(gitIn(lab.main, "status", "--porcelain")).toBe("");
    lab.commitOn("main", { "e.txt": "e\n" });
    expect(await finishMove(cut)).toBe(true);
  });
});
