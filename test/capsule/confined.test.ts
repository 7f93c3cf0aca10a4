/**
 * An agent can write files that keep git from answering, crash it, or make it read something else. In each
 * case nothing outside the sandbox reads them, the snapshot is exact, and the session continues.
 */
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { ConfinedGit, makeEmptyGitdir } from "../../src/capsule/git/confined.ts";
import { type Capsule, sandboxAround } from "../../src/capsule/index.ts";
import { findProgram, limited, runProgram } from "../../src/process/index.ts";
import { CapsuleLab, hasSandbox, inside, limits } from "../support/capsules.ts";
import { TempDir } from "../support/home.ts";
import { listTree } from "../support/repo.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

const isLong = process.env["HOLDFAST_LONG"] === "1";
// In the long run, a single test may take long.
if (isLong) vi.setConfig({ testTimeout: 900_000 });
const INDEXES = isLong ? 2000 : 100;
const LARGE = isLong ? "2G" : "32M";
const strategies = ["overlay", "worktree"] as const;
const INDEXES_EACH = INDEXES / strategies.length;
if (!hasSandbox)
  console.log("left out: that git reads an agent's bytes in the sandbox only: bubblewrap is missing");

/** Lists the calls of git that ran outside the sandbox: a call inside can't write to the log. */
class WatchedGit implements Disposable {
  readonly #temp = new TempDir();
  readonly #path = process.env["PATH"] ?? "";

  constructor() {
    const real = findProgram("git") ?? "";
    const log = this.#temp.join("calls");
    writeFileSync(log, "");
    const script = `#!/bin/sh\n{ echo "$*" >> ${log}; } 2>/dev/null\nexec ${real} "$@"\n`;
    writeFileSync(this.#temp.join("git"), script);
    chmodSync(this.#temp.join("git"), 0o755);
    process.env["PATH"] = `${this.#temp.path}:${this.#path}`;
  }

  get outside(): string[] {
    return readFileSync(this.#temp.join("calls"), "utf8").split("\n").filter(Boolean);
  }

  [Symbol.dispose](): void {
    process.env["PATH"] = this.#path;
    this.#temp[Symbol.dispose]();
  }
}

async function assertExact(lab: CapsuleLab, capsule: Capsule, snapshot: string): Promise<void> {
  const { root } = await capsule.attach();
  const restored = await lab.restore(snapshot);
  const skip = (path: string) => path === ".git/objects/info/alternates";
  const copy = listTree((await restored.attach()).root, skip);
  expect(copy).toEqual(listTree(root, skip));
  await restored.detach();
}

describe.each(strategies)("%s: an invalid index", (strategy) => {
  it(`confined-1 stops no snapshot and makes no ignored file count as work, in ${INDEXES_EACH} variants`, async () => {
    await using lab = new CapsuleLab(strategy, {
      files: { "a.txt": "one\n", ".gitignore": "*.log\n", "b/c.txt": "two\n", "b/d.txt": "three\n" },
    });
    const capsule = await lab.create();
    await inside(
      capsule,
      "echo 1 > x.log; echo 1 > work; echo 1 > added.log; git add -f added.log; git add work",
    );
    const { root } = await capsule.attach();
    const index = join(root, ".git/index");
    const whole = readFileSync(index);
    const position = fc.nat(whole.length - 1);
    const change = fc.oneof(
      fc.record({ at: position, byte: fc.nat(255) }),
      fc.record({ at: position, word: fc.constantFrom(0, 1, 0x7fffffff, 0x80000000, 0xffffffff) }),
      fc.record({ at: position, cut: fc.constant(true) }),
      fc.record({ at: position, twice: fc.nat(4096) }),
    );
    const spoil = (
      bytes: Buffer,
      one: { at: number; byte?: number; word?: number; cut?: boolean; twice?: number },
    ) => {
      if (one.cut || bytes.length < 4) return bytes.subarray(0, one.at);
      if (one.twice !== undefined)
        return Buffer.concat([bytes, bytes.subarray(one.at, one.at + one.twice), Buffer.alloc(20)]);
      const spoiled = Buffer.from(bytes);
      if (one.byte !== undefined) spoiled[one.at % spoiled.length] = one.byte;
      else spoiled.writeUInt32BE(one.word ?? 0, Math.min(one.at, spoiled.length - 4));
      return spoiled;
    };
    let number = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        writeFileSync(index, changes.reduce(spoil, whole));
        number += 1;
        const { manifest, unanswered } = await capsule.snapshot(`n${number}`, { ...limits, answerMs: 5000 });
        const roles = new Map(manifest.entries.map(({ path, role }) => [path, role]));
        expect([...roles.keys()]).toEqual(expect.arrayContaining(["work", "x.log", ".git/index"]));
        // Git then uses the base's index. Whether files that were added by force count as work varies.
        expect(unanswered).toEqual([]);
        expect([roles.get("work"), roles.get("x.log")]).toEqual(["work", "ignored"]);
      }),
      { numRuns: INDEXES_EACH, seed: 7 },
    );
  });
});

describe.each(strategies)("%s: hostile git rules", (strategy) => {
  const cases: Record<string, { script: string; unanswered: readonly string[]; work: readonly string[] }> = {
    [`a .gitignore of ${LARGE}`]: {
      script: `truncate -s ${LARGE} sub/.gitignore`,
      unanswered: ["sub/.gitignore", "sub/new"],
      work: ["work"],
    },
    [`a .gitattributes of ${LARGE}`]: {
      script: `truncate -s ${LARGE} sub/.gitattributes`,
      unanswered: ["sub/.gitattributes", "sub/new"],
      work: ["work"],
    },
    "a pipe for a .gitignore": { script: "mkfifo sub/.gitignore", unanswered: ["sub/new"], work: ["work"] },
    "rules that are links to a device": {
      script: "ln -s /dev/zero sub/.gitignore; ln -s /dev/zero .gitattributes",
      unanswered: [],
      work: [".gitattributes", "sub/.gitignore", "sub/new", "work"],
    },
    "rules that are directories": {
      script: "mkdir -p sub/.gitignore sub/.gitattributes; echo 1 > sub/.gitignore/f",
      unanswered: [],
      work: ["sub/.gitignore/f", "sub/new", "work"],
    },
    "a vast number of attributes": {
      script: `i=0; while [ $i -lt 2000 ]; do echo "*.$i text eol=crlf ident working-tree-encoding=x$i"; i=$((i+1)); done > .gitattributes; head -c 100000 /dev/zero | tr '\\0' a >> .gitattributes`,
      unanswered: [],
      work: [".gitattributes", "sub/new", "work"],
    },
    "an ident attribute on many files": {
      script: `echo '* ident' > .gitattributes; mkdir many; i=0; while [ $i -lt 300 ]; do echo '$Id: x$' > many/$i; i=$((i+1)); done`,
      unanswered: [],
      work: [
        ".gitattributes",
        ...Array.from({ length: 300 }, (_, index) => `many/${index}`),
        "sub/new",
        "work",
      ].sort(),
    },
  };
  for (const [name, { script, unanswered, work }] of Object.entries(cases)) {
    it(`confined-1 a snapshot counts as work only what git could rule on, with ${name}`, async () => {
      await using lab = new CapsuleLab(strategy, { files: { "a.txt": "one\n", "sub/b.txt": "two\n" } });
      const capsule = await lab.create();
      await inside(capsule, `echo 1 > work; echo 1 > sub/new; ${script}`);
      const snapshot = await capsule.snapshot("one", { ...limits, maxSnapshotBytes: 2 ** 33 });
      expect([...snapshot.unanswered].sort()).toEqual(unanswered);
      const ofWork = snapshot.manifest.entries.filter(({ role, kind }) => role === "work" && kind !== "dir");
      expect(ofWork.map(({ path }) => path).sort()).toEqual(work);
      if (!name.endsWith(LARGE)) await assertExact(lab, capsule, snapshot.commit);
    });
  }

  it("confined-1 a snapshot keeps a path that git can't rule on in time, but does not count it as work", async () => {
    await using lab = new CapsuleLab(strategy, { files: { "a.txt": "one\n" } });
    const capsule = await lab.create();
    const deep = "a/".repeat(40);
    await inside(
      capsule,
      `echo '/${"**/a/".repeat(14)}b' > .gitignore; mkdir -p ${deep}; echo 1 > ${deep}file; echo 1 > work`,
    );
    const snapshot = await capsule.snapshot("one", { ...limits, answerMs: 1500 });
    expect(snapshot.unanswered).toContain("work");
    await assertExact(lab, capsule, snapshot.commit);
    // Without the slow pattern, git answers for every path.
    await inside(capsule, "rm .gitignore");
    expect((await capsule.snapshot("two", limits)).unanswered).toEqual([]);
  });

  it("a snapshot converts a large CRLF file under `* text`, and leaves the capsule's file as it is", async () => {
    const megabytes = isLong ? 600 : 24;
    await using lab = new CapsuleLab(strategy, { files: { "a.txt": "one\n" } });
    const capsule = await lab.create();
    await inside(
      capsule,
      `echo '* text' > .gitattributes; yes "$(printf 'a line\\r')" | head -c ${megabytes * 1024 * 1024} > large`,
    );
    const snapshot = await capsule.snapshot("one", limits);
    expect(snapshot.manifest.converted).toEqual(["large"]);
    const { root } = await capsule.attach();
    expect(statSync(join(root, "large")).size).toBe(megabytes * 1024 * 1024);
  });
});

describe.skipIf(!hasSandbox)("git outside the sandbox", () => {
  it("git-1 confined-1 is never given an agent's index, rules, attributes or files to read", async () => {
    using home = new TaskHome({
      "a.txt": "one\n",
      "c.txt": "two\r\n",
      "holdfast.yaml": "capsule: { setup: echo 1 > made }\n",
    });
    const hf = await home.open();
    using git = new WatchedGit();
    const { session, task } = await home.start(hf);
    await turn(
      task,
      `printf '* text=auto\\n*.id ident\\n*.u working-tree-encoding=UTF-16\\n' > .gitattributes; echo '*.log' > .gitignore; echo 1 > x.log; printf 'a\\r\\n' > crlf; echo '$Id$' > f.id; printf '\\376\\377\\0a' > g.u; git add -A`,
    );
    const { stat } = await task.end("done");
    expect(stat.paths).toEqual([".gitattributes", ".gitignore", "crlf", "f.id", "g.u"].sort());
    await session.pause();
    await hf.tearDownSession(session.id);
    await hf.restoreSession(session.id);
    await hf.handOffSession(session.id, { to: "ani", directory: home.join("mine") });
    await hf.takeBackSession(session.id, {});
    expect(git.outside.length).toBeGreaterThan(10);
    const readers =
      /\b(check-ignore|check-attr|hash-object -w|update-index|status|add|diff-index|diff-files|ls-files)\b/;
    expect(git.outside.filter((call) => readers.test(call))).toEqual([]);
  });
});

describe("a git that an agent has taken over", () => {
  it.skipIf(!hasSandbox)(
    "confined-1 can write to no file, and has limits of memory, output and time",
    async () => {
      await using lab = new CapsuleLab("worktree");
      const capsule = await lab.create();
      const view = await capsule.attach();
      const gitDir = lab.temp.join("asked");
      await makeEmptyGitdir(gitDir, "sha1");
      const sandbox = sandboxAround(lab.home, await lab.repo(), capsule.spec.session);
      const git = new ConfinedGit({ gitDir, view, sandbox });
      const run = async (script: string, timeoutMs = 10_000) =>
        (await git.ask([], { script, maxOutputBytes: 1000, timeoutMs }))?.stdout.toString().trim();
      const planted = join(lab.main, "planted");
      expect(await run(`(: > ${planted}; : > ${gitDir}/planted) 2>/dev/null; cat ${lab.main}/a.txt`)).toBe(
        "one",
      );
      for (const dir of [view.root, lab.main, gitDir])
        expect(existsSync(join(dir, "planted")), dir).toBe(false);
      expect(await run("head -c 1000 /dev/zero | tr '\\0' x")).toHaveLength(1000);
      expect(await run("head -c 1001 /dev/zero | tr '\\0' x")).toBeUndefined();
      const startedMs = performance.now();
      expect(await run("sleep 20; echo late", 500)).toBeUndefined();
      expect(performance.now() - startedMs).toBeLessThan(10_000);
      if (!findProgram("prlimit")) return console.log("left out: git's limit of memory: prlimit is missing");
      expect(await run("ulimit -v")).toBe(String(1024 * 1024));
    },
  );
});

describe("a task without a sandbox", () => {
  it("confined-1 git still runs under limits of memory and file size", async (context) => {
    if (!findProgram("prlimit"))
      context.skip("this machine has no prlimit, so git has a limit of time alone");
    const env = { PATH: process.env["PATH"] ?? "" };
    const greedy = ["sh", "-c", 'x=$(head -c 300000000 /dev/zero | tr "\\0" a); printf %s "$x" | wc -c'];
    const free = await runProgram(greedy, { env });
    expect(free.stdout.toString().trim()).toBe("300000000");
    const bound = await runProgram([...limited({ maxMemoryBytes: 100_000_000 }), ...greedy], { env });
    expect(bound.stdout.toString().trim()).not.toBe("300000000");
    using temp = new TempDir();
    const writing = ["dd", "if=/dev/zero", `of=${temp.join("f")}`, "bs=1M", "count=20"];
    await runProgram([...limited({ maxFileBytes: 5_000_000 }), ...writing], { env });
    expect(statSync(temp.join("f")).size).toBeLessThanOrEqual(5_000_000);
  });
});

describe("a session whose files keep git from answering", () => {
  it("confined-1 records what was not published, and can be torn down, handed off, continued and closed", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "echo work > work; mkfifo .gitignore; head -c 2000 /dev/urandom > .git/index");
    const end = await task.end("done");
    expect(end.branch).toBeNull();
    const taken = [];
    for await (const { type, data } of hf.readJournal(session.id))
      if (type === "snapshot_taken") taken.push(data);
    expect(taken.at(-1)).toMatchObject({ unanswered: 1, unansweredPaths: ["work"] });
    await session.pause();
    await hf.tearDownSession(session.id);
    await hf.restoreSession(session.id);
    await hf.handOffSession(session.id, { to: "ani", directory: home.join("mine") });
    expect(existsSync(home.join("mine"))).toBe(true);
    await hf.takeBackSession(session.id, { unchanged: true });
    const resumed = await hf.resumeSession(session.id);
    const next = await hf.startTask(resumed, sandbox);
    expect(await turn(next, "cat work; rm .gitignore; rm .git/index")).toBe("work");
    expect((await next.end("done")).stat.paths).toEqual(["work"]);
    await resumed.pause();
    await hf.closeSession(session.id);
  });
});
