/**
 * Repos of every kind: each works or is refused with a clear error, and stays as it was.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LocalHome } from "../../src/library/local-home.ts";
import { commitFiles, fingerprint, gitIn, makeRepo } from "../support/repo.ts";
import { sandbox, TaskHome } from "../support/tasks.ts";
import { acceptFile } from "../support/trust.ts";

/** Runs a task in the repo from its start to its branch. Returns the output of the command, too. */
async function runIn(hf: LocalHome, path: string, script: string, base?: string) {
  const repo = await hf.resolveRepo(path);
  const session = await hf.openSession({ repo });
  const task = await hf.startTask(session, { ...sandbox, ...(base && { base }) });
  let said = "";
  await task.runTurn(["sh", "-c", script], {
    onOutput: (chunk) => {
      said += chunk;
    },
  });
  const end = await task.end("done");
  await session.pause();
  // A person looks at a binary, or at another holdfast.yaml, before it is published.
  const isHeld = end.outcome === "needs_review";
  const branch = isHeld ? (await hf.branchSession(session.id, { isReviewed: true })).branch : end.branch;
  await hf.tearDownSession(session.id);
  await hf.restoreSession(session.id);
  await hf.tearDownSession(session.id);
  return { said: said.trimEnd(), ...end, branch };
}

describe("a repo", () => {
  it("without a commit gets the work as its first commit", async () => {
    using home = new TaskHome();
    const empty = home.join("empty");
    mkdirSync(empty);
    gitIn(empty, "init", "-q", "-b", "main");
    gitIn(empty, "config", "user.name", "Ani");
    const hf = await home.open();
    const { branch, said } = await runIn(hf, empty, "ls -A; git status --porcelain; echo first > f");
    expect(said).toBe(".git");
    expect(gitIn(empty, "log", "--format=%P|%an", `${branch}`)).toBe("|Ani");
    expect(gitIn(empty, "show", `${branch}:f`)).toBe("first");
    expect(gitIn(empty, "symbolic-ref", "HEAD")).toBe("refs/heads/main");
  });

  it("that is bare, shallow, borrowing, detached, SHA-256 or a linked worktree gets a branch and no other change", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "sub/b": "b" });
    commitFiles(home.main, { "a.txt": "two\n" }, "the second");
    const hf = await home.open();
    const clone = (name: string, ...args: string[]) => {
      execFileSync("git", [
        "clone",
        "-q",
        ...args,
        `file://${home.main}`.replace(/^file:\/\//, args.includes("--depth=1") ? "file://" : ""),
        home.join(name),
      ]);
      return home.join(name);
    };
    const sha256 = home.join("sha256");
    mkdirSync(sha256);
    execFileSync("git", ["init", "-q", "--object-format=sha256", sha256]);
    gitIn(sha256, "config", "user.name", "Ani");
    gitIn(sha256, "config", "user.email", "a@b.c");
    commitFiles(sha256, { "a.txt": "two\n" }, "first");
    const detached = clone("detached");
    gitIn(detached, "checkout", "-q", "--detach", "HEAD~1");
    gitIn(home.main, "worktree", "add", "-q", "--detach", home.join("linked"));
    symlinkSync(home.main, home.join("link"));
    const odd = makeRepo(home.join("odd, name: é"), { "a.txt": "two\n" });
    const cases = {
      bare: clone("bare", "--bare"),
      shallow: clone("shallow", "--depth=1"),
      borrowing: clone("borrowing", "--shared"),
      detached,
      sha256,
      linked: home.join("linked"),
      link: home.join("link"),
      below: join(home.main, "sub"),
      odd,
    };
    for (const [name, path] of Object.entries(cases)) {
      const before = fingerprint(path);
      const { said, branch } = await runIn(
        hf,
        path,
        "cat a.txt; git log --oneline | wc -l; git status --porcelain; echo three >> a.txt; git fsck 2>&1 | grep -v dangling",
      );
      expect(said, name).toBe(
        `${name === "detached" ? "one\n1" : `two\n${["shallow", "sha256", "odd"].includes(name) ? 1 : 2}`}`,
      );
      expect(gitIn(path, "show", `${branch}:a.txt`), name).toMatch(/three$/);
      expect(fingerprint(path), name).toBe(before);
    }
  });

  it("with submodules, LFS pointers, links and a dirty checkout gets a branch and no other change", async () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const other = makeRepo(home.join("other"), { inner: "inner\n" });
    execFileSync("git", ["-c", "protocol.file.allow=always", "submodule", "add", "-q", other, "mod"], {
      cwd: home.main,
      stdio: "ignore",
    });
    const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    symlinkSync("a.txt", join(home.main, "link"));
    symlinkSync("/nowhere", join(home.main, "dangling"));
    commitFiles(
      home.main,
      { ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "x.bin": pointer },
      "odd things",
    );
    writeFileSync(join(home.main, "a.txt"), "dirty\n");
    writeFileSync(join(home.main, "staged"), "s");
    gitIn(home.main, "add", "staged");
    const before = fingerprint(home.main);
    const hf = await home.open();
    const script =
      "cat a.txt; ls mod; cat x.bin | head -1; readlink link dangling; git init -q nested; echo n > nested/n; git -C nested add n; echo m > mod/new; git status --porcelain; echo more >> x.bin";
    const { said, branch } = await runIn(hf, home.main, script);
    expect(said).toBe("one\nversion https://git-lfs.github.com/spec/v1\na.txt\n/nowhere\n?? nested/");
    expect(gitIn(home.main, "diff", "--name-status", "main", `${branch}`)).toBe("A\tnested/n\nM\tx.bin");
    expect(gitIn(home.main, "ls-tree", `${branch}`, "mod")).toContain("160000 commit");
    expect(fingerprint(home.main)).toBe(before);
  });

  it("with text attributes gets published files with the line endings that git wants", async () => {
    using home = new TaskHome({
      ".gitattributes": "* text=auto\n*.txt text\n*.bat eol=crlf\n*.raw -text\n",
      "a.txt": "a\nb\n",
      "w.bat": "x\ny\n",
    });
    const hf = await home.open();
    const { branch, said } = await runIn(
      hf,
      home.main,
      "printf 'a\\r\\nc\\r\\n' > a.txt; od -c w.bat | head -1; printf 'q\\r\\n' >> w.bat; printf 'r\\r\\n' > b.raw; printf '\\0\\r\\n' > c; printf 'd\\r\\n' > d",
    );
    expect(said).toContain("\\r");
    const published = (path: string) =>
      execFileSync("git", ["cat-file", "blob", `${branch}:${path}`], { cwd: home.main, encoding: "latin1" });
    expect([
      published("a.txt"),
      published("w.bat"),
      published("b.raw"),
      published("c"),
      published("d"),
    ]).toEqual(["a\nc\n", "x\ny\nq\n", "r\r\n", "\0\r\n", "d\n"]);
  });

  it("is refused if it is no repo, lacks the base commit or contains the home", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    mkdirSync(home.join("plain"));
    await expect(hf.resolveRepo(home.join("plain"))).rejects.toMatchObject({ code: "not_a_repo" });
    await expect(hf.resolveRepo(home.join("not-there"))).rejects.toMatchObject({ code: "not_a_repo" });
    await expect(hf.resolveRepo(join(home.main, ".git"))).rejects.toMatchObject({ code: "not_a_repo" });
    const session = await hf.openSession({ repo: home.main });
    await expect(hf.startTask(session, { ...sandbox, base: "no-such-branch" })).rejects.toMatchObject({
      code: "base_missing",
    });
    await expect(hf.startTask(session, { ...sandbox, base: "--all" })).rejects.toMatchObject({
      code: "base_missing",
    });
    expect(session.state.task).toBeNull();
    await session.pause();
    const inside = makeRepo(home.join("around"));
    await expect(
      (
        await (await import("../../src/library/index.ts")).openLocalHome({ home: join(inside, "home") })
      ).resolveRepo(inside),
    ).rejects.toMatchObject({ code: "usage" });
  });

  it("has errors in its holdfast.yaml reported with line and key, and a task's changes to it ignored", async () => {
    using home = new TaskHome({ "holdfast.yaml": "capsule:\n  strategy: auto\n  setpu: npm ci\n" });
    const hf = await home.open();
    const session = await hf.openSession({ repo: home.main });
    await expect(hf.startTask(session, sandbox)).rejects.toMatchObject({
      code: "config_invalid",
      message: "holdfast.yaml:3: capsule.setpu: no such key",
    });
    commitFiles(home.main, { "holdfast.yaml": "capsule:\n  ports: [GOOD]\n" }, "right");
    const { branch } = await runIn(
      hf,
      home.main,
      "echo 'capsule: { setup: touch /tmp/evil, ports: [EVIL] }' > holdfast.yaml",
    );
    const task = await hf.startTask(session, { ...sandbox, base: branch ?? "" });
    expect(Object.keys(task.capsule.spec.ports)).toEqual(["GOOD"]);
    await task.end("done");
    await session.pause();
    for (const [text, line] of [
      ["capsule: [1]\n", 1],
      ["a: 1\n", 1],
      ["capsule:\n  include: x\n", 2],
      ["capsule:\n  ports: [A B]\n", 2],
    ] as const) {
      commitFiles(home.main, { "holdfast.yaml": text }, "wrong");
      const bad = await hf.openSession({ repo: home.main });
      await expect(hf.startTask(bad, sandbox), text).rejects.toMatchObject({
        code: "config_invalid",
        facts: { line },
      });
      await bad.pause();
    }
  });

  it("is refused with includes that lead out; a task's base commit survives the user's own gc", async () => {
    using home = new TaskHome({ "holdfast.yaml": "capsule: { include: [../outside] }\n" });
    const hf = await home.open();
    const session = await hf.openSession({ repo: home.main });
    await expect(hf.startTask(session, sandbox)).rejects.toMatchObject({ code: "config_invalid" });
    await session.pause();
    symlinkSync("/etc", join(home.main, "etc"));
    commitFiles(home.main, { "holdfast.yaml": "capsule: { include: [etc/passwd] }\n" }, "through a link");
    await acceptFile(home);
    const { said } = await runIn(hf, home.main, "ls etc/passwd 2>/dev/null; readlink etc");
    expect(said.split("\n").at(-1)).toBe("/etc");

    gitIn(home.main, "checkout", "-q", "-b", "short-lived");
    rmSync(join(home.main, "holdfast.yaml"));
    commitFiles(home.main, { only: "here" }, "only here");
    const kept = await hf.openSession({ repo: home.main });
    const task = await hf.startTask(kept, sandbox);
    await task.runTurn(["sh", "-c", "echo work > work"]);
    await task.end("cancelled");
    await kept.pause();
    gitIn(home.main, "checkout", "-q", "main");
    gitIn(home.main, "branch", "-D", "short-lived");
    gitIn(home.main, "reflog", "expire", "--expire=now", "--all");
    gitIn(home.main, "gc", "-q", "--prune=now");
    await hf.tearDownSession(kept.id);
    rmSync(join(home.dir, "repos", "x"), { recursive: true, force: true });
    await hf.restoreSession(kept.id);
    await using resumed = await hf.resumeSession(kept.id);
    const { root } = await (await hf.currentTask(resumed)).capsule.attach();
    expect(readFileSync(join(root, "only"), "utf8") + readFileSync(join(root, "work"), "utf8")).toBe(
      "herework\n",
    );
    expect(existsSync(join(root, ".git"))).toBe(true);
    chmodSync(home.path, 0o700);
  });
});
