/**
 * Commits of a session, replayed on another commit without a working tree.
 */
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { gitLine, objectsLink, replay } from "../../src/capsule/index.ts";
import { atMs, conflicted, identity, MergeLab, replayed } from "../support/merging.ts";
import { fingerprint, gitIn } from "../support/repo.ts";

type Options = Partial<Parameters<typeof replay>[0]>;

async function replayWork(lab: MergeLab, options: Options = {}) {
  const { repo, store } = await lab.open();
  const tip = lab.idOf("work");
  const result = await replay({ repo, store, tip, onto: lab.idOf("main"), identity, atMs, ...options });
  const place = { ...store, alternates: [objectsLink(repo)] };
  return { result, ask: (...args: string[]) => gitLine(place, args) };
}

describe("a replay", () => {
  it("replay-1 keeps each commit's author and message in a linear history, and leaves the user's repo alone", async () => {
    using lab = new MergeLab();
    lab.commitOn("work", { "a.txt": "one\n2\n3\n4\n5\n" }, "The first\n\nWith a body.");
    gitIn(lab.main, "checkout", "-q", "work");
    gitIn(lab.main, "commit", "-q", "--allow-empty", "-m", "nothing");
    writeFileSync(`${lab.main}/new.txt`, "new\n");
    gitIn(lab.main, "add", "-A");
    gitIn(lab.main, "-c", "user.name=Böb", "commit", "-q", "-m", "Second, by another");
    gitIn(lab.main, "checkout", "-q", "main");
    lab.commitOn("main", { "a.txt": "1\n2\n3\n4\nfive\n", "c.txt": "c\n" });
    const before = fingerprint(lab.main);
    const objects = readdirSync(`${lab.main}/.git/objects`).length;
    const { result, ask } = await replayWork(lab);
    const { commit, tree, commits } = replayed(result);
    const range = `${lab.idOf("main")}..${commit}`;
    expect(await ask("log", "--format=%an|%cn|%s", "--reverse", range)).toBe(
      "Ani|Ani|The first\nBöb|Ani|Second, by another",
    );
    expect(await ask("log", "-1", "--format=%b%at", `${commit}~1`)).toBe(
      `With a body.\n${gitIn(lab.main, "log", "-1", "--format=%at", "work~2")}`,
    );
    expect(commits).toHaveLength(2);
    expect(await ask("rev-parse", `${commit}^{tree}`)).toBe(tree);
    expect(await ask("cat-file", "blob", `${commit}:a.txt`)).toBe("one\n2\n3\n4\nfive");
    expect(await ask("rev-list", "--count", "--merges", commit)).toBe("0");
    expect(fingerprint(lab.main)).toBe(before);
    expect(readdirSync(`${lab.main}/.git/objects`)).toHaveLength(objects);
  });

  it("keeps commits that already follow the tip, and leaves out those that the tip has", async () => {
    using lab = new MergeLab();
    lab.commitOn("work", { "n.txt": "n\n" });
    const tip = lab.commitOn("work", { "m.txt": "m\n" });
    expect(replayed((await replayWork(lab)).result).commit).toBe(tip);
    gitIn(lab.main, "cherry-pick", "work~1");
    const { commits } = replayed((await replayWork(lab)).result);
    expect(commits.map(({ from }) => from)).toEqual([tip]);
    gitIn(lab.main, "merge", "-q", "work", "-m", "by hand");
    expect(replayed((await replayWork(lab)).result)).toMatchObject({ commit: lab.idOf("main"), commits: [] });
  });

  it("makes one commit if it is squashed", async () => {
    using lab = new MergeLab();
    lab.commitOn("work", { "n.txt": "n\n" }, "one");
    lab.commitOn("work", { "n.txt": "m\n" }, "two");
    lab.commitOn("main", { "c.txt": "c\n" });
    const squashedAs = (subjects: readonly string[]) => `All\n\n${subjects.join(", ")}\n`;
    const { result, ask } = await replayWork(lab, { squashedAs });
    const { commit } = replayed(result);
    expect(await ask("log", "--format=%P|%an|%s|%b", "-1", commit)).toBe(
      `${lab.idOf("main")}|Ani|All|one, two`,
    );
    expect(await ask("cat-file", "blob", `${commit}:n.txt`)).toBe("m");
  });

  it("lists the paths of all conflicts, with a tree that has the conflict markers", async () => {
    using lab = new MergeLab({ "a.txt": "a\n", "gone.txt": "x\n", "same.txt": "s\n" });
    lab.commitOn("work", { "a.txt": "work\n", x: "a file\n", "gone.txt": "changed\n", "ok.txt": "ok\n" });
    gitIn(lab.main, "rm", "-q", "gone.txt");
    mkdirSync(`${lab.main}/x`);
    lab.commitOn("main", { "a.txt": "main\n", "x/y": "a directory\n" });
    const { result, ask } = await replayWork(lab);
    const { paths, tree, at } = conflicted(result);
    expect(paths.map((path) => path.replace(/~.*/, "")).sort()).toEqual(["a.txt", "gone.txt", "x"]);
    expect(at).toBe(lab.idOf("work"));
    expect(await ask("cat-file", "blob", `${tree}:a.txt`)).toContain("<<<<<<<");
  });

  it("leaves out merge commits, or reports them if only a squash keeps how they resolved a conflict", async () => {
    using lab = new MergeLab();
    lab.commitOn("work", { "n.txt": "n\n" });
    lab.commitOn("main", { "c.txt": "c\n" });
    gitIn(lab.main, "checkout", "-q", "work");
    gitIn(lab.main, "merge", "-q", "main", "-m", "main into work");
    gitIn(lab.main, "checkout", "-q", "main");
    lab.commitOn("main", { "d.txt": "d\n" });
    const { result, ask } = await replayWork(lab);
    const { commit, commits } = replayed(result);
    expect(commits).toHaveLength(1);
    expect(await ask("rev-list", "--count", `${lab.idOf("main")}..${commit}`)).toBe("1");
    // A conflict that a person resolved in a merge commit.
    lab.commitOn("work", { "a.txt": "work\n" });
    lab.commitOn("main", { "a.txt": "main\n" });
    gitIn(lab.main, "checkout", "-q", "work");
    expect(() => gitIn(lab.main, "merge", "-q", "main")).toThrow();
    writeFileSync(`${lab.main}/a.txt`, "both\n");
    gitIn(lab.main, "commit", "-q", "-am", "resolved");
    gitIn(lab.main, "checkout", "-q", "main");
    expect(conflicted((await replayWork(lab)).result)).toMatchObject({ paths: ["a.txt"] });
    const one = await replayWork(lab, { squashedAs: () => "all\n" });
    expect(await one.ask("cat-file", "blob", `${replayed(one.result).commit}:a.txt`)).toBe("both");
  });

  it("begins after the commits that were merged before, with or without a squash", async () => {
    using lab = new MergeLab();
    const since = lab.commitOn("work", { "a.txt": "1\n2\nthree\n4\n5\n" });
    lab.commitOn("main", { "a.txt": "1\n2\nthree, changed since\n4\n5\n" });
    const tip = lab.commitOn("work", { "n.txt": "n\n" });
    expect(conflicted((await replayWork(lab)).result).paths).toEqual(["a.txt"]);
    expect(replayed((await replayWork(lab, { since })).result).commits).toMatchObject([{ from: tip }]);
    lab.commitOn("work", { "m.txt": "m\n" });
    const one = await replayWork(lab, { since, squashedAs: () => "all\n" });
    expect(await one.ask("ls-tree", "--name-only", replayed(one.result).tree)).toBe(
      "a.txt\nb.txt\nm.txt\nn.txt",
    );
  });

  it("leaves a new file in its directory, even if the other side renamed that directory", async () => {
    using lab = new MergeLab({ "old/x.txt": "x\n", "old/y.txt": "y\n" });
    lab.commitOn("work", { "old/new.txt": "new\n" });
    gitIn(lab.main, "mv", "old", "moved");
    lab.commitOn("main", {});
    const { result, ask } = await replayWork(lab);
    expect(await ask("ls-tree", "-r", "--name-only", replayed(result).tree)).toBe(
      "moved/x.txt\nmoved/y.txt\nold/new.txt",
    );
  });

  it("works in a SHA-256 repo, and with a branch that shares no commit with the tip", async () => {
    using lab = new MergeLab();
    const dir = lab.join("other");
    gitIn(lab.path, "init", "-q", "-b", "main", "--object-format=sha256", dir);
    for (const setting of ["name", "email"]) gitIn(dir, "config", `user.${setting}`, "x");
    writeFileSync(`${dir}/a`, "a\n");
    gitIn(dir, "add", "-A");
    gitIn(dir, "commit", "-q", "-m", "a");
    gitIn(dir, "checkout", "-q", "--orphan", "work");
    writeFileSync(`${dir}/b`, "b\n");
    gitIn(dir, "add", "-A");
    gitIn(dir, "commit", "-q", "-m", "b");
    const { repo, store } = await lab.open(dir);
    const [tip, onto] = [gitIn(dir, "rev-parse", "work"), gitIn(dir, "rev-parse", "main")];
    expect(replayed(await replay({ repo, store, tip, onto, identity, atMs })).commits).toHaveLength(1);
  });

  it("fails with both version numbers if git is too old", async () => {
    using lab = new MergeLab();
    lab.commitOn("work", { "n.txt": "n\n" });
    lab.commitOn("main", { "c.txt": "c\n" });
    const own = gitIn(lab.path, "--exec-path");
    mkdirSync(lab.join("bin"));
    const old = `#!/bin/sh\ncase "$*" in *merge-tree*) exit 129;; *version) echo git version 2.30.2;; *) exec ${own}/git "$@";; esac\n`;
    writeFileSync(lab.join("bin", "git"), old);
    chmodSync(lab.join("bin", "git"), 0o755);
    const { PATH: path = "" } = process.env;
    process.env["PATH"] = `${lab.join("bin")}:${path}`;
    try {
      await expect(replayWork(lab)).rejects.toMatchObject({
        code: "git_too_old",
        message: /2\.39.*2\.30\.2/,
      });
    } finally {
      process.env["PATH"] = path;
    }
  });
});
