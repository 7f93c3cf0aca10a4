/**
 * A repo that was made to attack its user: another person wrote its gitdir.
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasObject, openRepo } from "../../src/capsule/index.ts";
import { probe } from "../../src/capsule/strategy/probe.ts";
import { makeHomeRuntimeDir } from "../../src/mail/index.ts";
import { USER_HOME } from "../../src/process/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { TestChild } from "../support/children.ts";
import { TempDir } from "../support/home.ts";
import { commitFiles, gitIn } from "../support/repo.ts";
import { TaskHome, turn } from "../support/tasks.ts";

const isRoot = process.getuid?.() === 0;

async function canOverlay(): Promise<boolean> {
  using temp = new TempDir();
  return (await probe("overlay", temp.path)).isAvailable;
}

const whyNoEtc = !isRoot
  ? "only root can plant some"
  : (await canOverlay())
    ? undefined
    : "an overlay can't be mounted over /etc";

if (!hasSandbox) console.log("left out: what a hostile repo can show in a sandbox: bubblewrap is missing");

describe.skipIf(!hasSandbox)("the alternates of a repo", () => {
  it("borrowed-1 give no access to the home, its runtime directory or unpublished work of other sessions", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const other = await home.start(hf, "another");
    await turn(other.task, "echo OTHER-WORK > private");
    await other.task.rest();
    const token = home.sessionDir(other.session.id, "token");
    const planted = readFileSync(token, "utf8").trim();
    expect(planted.length).toBeGreaterThan(20);
    const runtime = makeHomeRuntimeDir(home.dir);
    writeFileSync(join(runtime, "marker"), "RUNTIME-MARKER");
    const repos = readdirSync(join(home.dir, "repos"));
    const stores = repos.map((key) => join(home.dir, "repos", key, "store.git/objects"));
    symlinkSync(home.dir, home.join("link"));
    const lines = [
      home.dir,
      home.path,
      "/tmp",
      "/",
      "/run",
      home.join("link"),
      `${home.main}/../home`,
      join(home.dir, "sessions", other.session.id),
      runtime,
      ...stores,
    ];
    const alternates = join(home.main, ".git/objects/info/alternates");
    for (const line of lines) {
      writeFileSync(alternates, `${line}\n`);
      const { session, task } = await home.start(hf, "the attacker");
      const said = await turn(
        task,
        `echo begun; cat ${token} ${home.join("link")}/sessions/*/token ${runtime}/marker 2>&1; git cat-file --batch-all-objects --batch 2>/dev/null; true`,
      );
      await task.rest();
      await session.pause();
      expect(said, line).toContain("begun");
      for (const marker of [planted, "RUNTIME-MARKER", "OTHER-WORK"])
        expect(said, line).not.toContain(marker);
    }
    await other.session.pause();
  });

  it("may name a repo below a temporary directory, which may borrow from another one", async () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    gitIn(home.path, "clone", "-q", "--shared", home.main, "second");
    gitIn(home.path, "clone", "-q", "--shared", "second", "third");
    const hf = await home.open();
    const session = await hf.openSession({ repo: home.join("third") });
    const task = await hf.startTask(session);
    expect(await turn(task, "git log --format=%s && git show HEAD:a.txt")).toBe("the first\none");
    await task.rest();
    await session.pause();
  });

  it("borrowed-1 an objects directory that is a link is refused if the link leads to anything but an object store", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const objects = join(home.main, ".git/objects");
    renameSync(objects, home.join("objects"));
    symlinkSync(home.join("objects"), objects);
    // A link to an object store works: some tools make one.
    const first = await home.start(hf);
    expect(await turn(first.task, "git show HEAD:a.txt")).toBe("one");
    await first.task.rest();
    await first.session.pause();
    writeFileSync(home.join("objects", "notes"), "not a store of objects any more");
    const session = await hf.openSession({ repo: home.main });
    await expect(hf.startTask(session).then((task) => turn(task, "true"))).rejects.toMatchObject({
      code: "not_a_repo",
    });
    await session.pause();
  });
});

describe("ignore rules in a repo's gitdir", () => {
  it("borrowed-1 can't copy a file of the user into a capsule, by a setting of the repo or by a link", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const secret = home.join("secret");
    writeFileSync(secret, "PLANTED-SECRET\n");
    const exclude = join(home.main, ".git/info/exclude");
    for (const plant of [
      () => gitIn(home.main, "config", "core.excludesfile", secret),
      () => {
        rmSync(exclude);
        symlinkSync(secret, exclude);
      },
      () => gitIn(home.main, "config", "core.excludesfile", "/dev/zero"),
      () => {
        rmSync(exclude);
        symlinkSync("/dev/zero", exclude);
      },
      () => {
        rmSync(exclude);
        execFileSync("mkfifo", [exclude]);
      },
    ]) {
      plant();
      const session = await hf.openSession({ repo: home.main });
      const task = await hf.startTask(session, { sandbox: hasSandbox });
      const said = await turn(task, "cat .git/info/exclude; echo work > work");
      expect(said).not.toContain("PLANTED-SECRET");
      expect((await task.end("done")).stat.paths).toEqual(["work"]);
      await session.pause();
    }
  });

  it("an ignore file that the user's own git settings name is used, even through a link", async () => {
    using home = new TaskHome();
    const user = home.join("user");
    mkdirSync(user);
    writeFileSync(home.join("real-ignore"), "*.mine\n");
    symlinkSync(home.join("real-ignore"), join(user, "ignore"));
    writeFileSync(join(user, ".gitconfig"), "[core]\n\texcludesfile = ~/ignore\n");
    process.env[USER_HOME] = user;
    try {
      const hf = await home.open();
      const { session, task } = await home.start(hf);
      await turn(task, "echo 1 > a.mine; echo 1 > work");
      expect((await task.end("done")).stat.paths).toEqual(["work"]);
      await session.pause();
    } finally {
      delete process.env[USER_HOME];
    }
  });
});

describe("programs that a repo's gitdir and the user's settings name", () => {
  it("git-1 no hook, filter or transport is run, and no replacement object is used", async () => {
    using home = new TaskHome({ "a.txt": "one\n", ".gitattributes": "*.txt filter=x\n" });
    const { main } = home;
    const canary = home.join("canary");
    const ran = () => (existsSync(canary) ? readFileSync(canary, "utf8") : "");
    const fire = home.join("fire");
    writeFileSync(fire, `#!/bin/sh\necho "$@" >> ${canary}\ntest "$1" != filter || cat\n`, { mode: 0o755 });
    const hooks = home.join("hooks");
    mkdirSync(hooks);
    for (const hook of ["reference-transaction", "post-index-change"])
      writeFileSync(join(hooks, hook), `#!/bin/sh\nexec ${fire} ${hook}\n`, { mode: 0o755 });
    const base = gitIn(main, "rev-parse", "HEAD");
    gitIn(main, "checkout", "-q", "-b", "forged");
    const forged = commitFiles(main, { "a.txt": "forged\n" }, "forged");
    gitIn(main, "checkout", "-q", "main");
    gitIn(main, "replace", base, forged);
    for (const [name, value] of [
      ["core.hooksPath", hooks],
      ["core.repositoryFormatVersion", "1"],
      ["extensions.partialClone", "origin"],
      ["remote.origin.promisor", "true"],
      ["remote.origin.url", `ext::${fire} transport`],
      ["protocol.ext.allow", "always"],
    ] as const)
      gitIn(main, "config", name, value);
    const user = home.join("user");
    mkdirSync(user);
    writeFileSync(join(user, ".gitconfig"), `[filter "x"]\n\tsmudge = ${fire} filter\n`);
    const missing = "1".repeat(40);
    // The user's own git runs all of them, so the traps work.
    const env = { PATH: process.env["PATH"] ?? "", HOME: user };
    const theirs = `git update-ref refs/heads/x HEAD; git cat-file -e ${missing}; git archive HEAD`;
    spawnSync("sh", ["-c", theirs], { cwd: main, env, timeout: 10_000 });
    for (const what of ["reference-transaction", "transport", "filter"]) expect(ran()).toContain(what);
    expect(gitIn(main, "show", "HEAD:a.txt")).toBe("forged");
    rmSync(canary);
    const before = process.env["HOME"];
    process.env["HOME"] = user;
    try {
      const hf = await home.open();
      expect(await hasObject(await openRepo({ dir: home.dir, id: "home_test" }, main), missing)).toBe(false);
      const session = await hf.openSession({ repo: main });
      const task = await hf.startTask(session, { sandbox: hasSandbox });
      expect(await turn(task, "cat a.txt; echo work > work")).toBe("one");
      expect((await task.end("done")).stat.paths).toEqual(["work"]);
      await session.pause();
      expect(gitIn(main, "show", `${home.branchOf(session.id)}:work`)).toBe("work");
    } finally {
      process.env["HOME"] = before;
    }
    expect(ran()).toBe("");
  });

  if (whyNoEtc) console.log(`left out: settings of the machine: ${whyNoEtc}`);
  it.skipIf(whyNoEtc !== undefined)(
    "git-1 machine-wide git settings and attributes have no effect",
    async () => {
      using home = new TaskHome({ "a.txt": "one\n", ".gitattributes": "*.sh filter=x\n", "b.sh": "true\n" });
      const canary = home.join("canary");
      for (const dir of ["upper", "work"]) mkdirSync(home.join(dir));
      writeFileSync(home.join("upper/gitconfig"), `[filter "x"]\n\tsmudge = "echo ran >> ${canary}; cat"\n`);
      writeFileSync(home.join("upper/gitattributes"), "*.txt text eol=crlf\n");
      // Only the processes that are started here see these files.
      const layers = `lowerdir=/etc,upperdir=${home.join("upper")},workdir=${home.join("work")}`;
      const via = [
        "unshare",
        "-m",
        "sh",
        "-c",
        `mount -t overlay planted -o ${layers} /etc && exec "$@"`,
        "sh",
      ];
      const [program = "", ...words] = via;
      const theirs = [...words, "git", "archive", "HEAD", "a.txt", "b.sh"];
      expect(spawnSync(program, theirs, { cwd: home.main, encoding: "latin1" }).stdout).toContain("one\r\n");
      expect(existsSync(canary)).toBe(true);
      rmSync(canary);
      await using child = new TestChild("run-task.ts", [home.dir, home.main, "od -c a.txt"], { via });
      await child.line((line) => line === "ended");
      expect(child.lines.join("\n")).toMatch(/o +n +e +\\n/);
      expect(existsSync(canary)).toBe(false);
    },
  );
});
