/**
 * Overlays and the bases below them, tested against what could break them.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { listBases } from "../../src/capsule/base/bases.ts";
import { KnownFiles, rememberFiles } from "../../src/capsule/layer/known-files.ts";
import { probe } from "../../src/capsule/strategy/probe.ts";
import { HoldfastError, isHoldfastError } from "../../src/contract/index.ts";
import { markedProcesses } from "../../src/process/index.ts";
import { identityOf, isAlive, signalIfThere } from "../../src/util/index.ts";
import { CapsuleLab, inside, limits } from "../support/capsules.ts";
import { TestChild } from "../support/children.ts";
import { TempDir } from "../support/home.ts";
import { commitFiles, gitIn, listTree } from "../support/repo.ts";

/** Above any pid that a system assigns. */
const UNUSED_PID = 2 ** 30;

const canOverlay = await (async () => {
  using temp = new TempDir();
  return (await probe("overlay", temp.path)).isAvailable;
})();
if (!canOverlay) console.log("left out: tests of overlays, which this machine can't mount");

describe.skipIf(!canOverlay)("bases", () => {
  it("base-1 twenty capsules that are made at once share one base, which is built once", async () => {
    await using lab = new CapsuleLab("overlay", { files: { "a.txt": "1", ".gitignore": "deps\n" } });
    const setup = "sleep 0.5; mkdir deps; head -c 16 /dev/urandom | od -An -tx1 > deps/id";
    const capsules = await Promise.all(Array.from({ length: 20 }, () => lab.create({ setup })));
    const ids = await Promise.all(capsules.map((capsule) => inside(capsule, "cat deps/id")));
    expect(new Set(ids).size).toBe(1);
    expect(await listBases(await lab.repo())).toHaveLength(1);
  });

  it("a commit near a base is put on that base, unless its dependencies differ", async () => {
    await using lab = new CapsuleLab("overlay", {
      files: { "a.txt": "1", b: "b", "package.json": "{}", ".gitignore": "deps\n" },
    });
    const setup = "mkdir deps; cp package.json deps/";
    await lab.create({ setup });
    rmSync(join(lab.main, "b"));
    const near = commitFiles(lab.main, { "a.txt": "2", "new/c": "c" }, "near");
    const capsule = await lab.create({ setup });
    expect(capsule.spec.base).toBe(near);
    expect(
      await inside(
        capsule,
        "cat a.txt new/c deps/package.json; ls b 2>/dev/null || true; git status --porcelain; git rev-parse HEAD",
      ),
    ).toBe(`2c{}${near}`);
    const snapshot = await capsule.snapshot("1", limits);
    expect(await listBases(await lab.repo())).toHaveLength(1);
    commitFiles(lab.main, { "package.json": '{"a":1}' }, "other dependencies");
    expect(await inside(await lab.create({ setup }), "cat deps/package.json")).toBe('{"a":1}');
    expect(await listBases(await lab.repo())).toHaveLength(2);
    await lab.remove(capsule);
    const again = await lab.restore(snapshot.commit, capsule.spec.session, { setup });
    expect(await inside(again, "cat a.txt new/c; git status --porcelain")).toBe("2c");
  });

  it("a commit that a task made is put on a base of the user's commits, or on one that is not shared", async () => {
    await using lab = new CapsuleLab("overlay");
    gitIn(lab.main, "checkout", "-q", "-b", "holdfast/s/1");
    const made = commitFiles(lab.main, { "a.txt": "by a task" }, "made by a task");
    gitIn(lab.main, "checkout", "-q", "main");
    await lab.create({}, made);
    await lab.create({}, made);
    expect(await listBases(await lab.repo()), "no other session builds on it").toHaveLength(2);
    await lab.create();
    const near = await lab.create({}, made);
    expect(await inside(near, "cat a.txt; git status --porcelain")).toBe("by a task");
    expect(near.spec.lower).toBe(gitIn(lab.main, "rev-parse", "main"));
  });
});

describe.skipIf(!canOverlay)("overlays", () => {
  it("holder-1 a capsule has one holder, and if that is killed the next use mounts again without loss", async () => {
    await using lab = new CapsuleLab("overlay");
    const capsule = await lab.create();
    await inside(capsule, "echo kept > kept");
    const first = capsule.layout.readHolder();
    await capsule.attach();
    expect(capsule.layout.readHolder()).toEqual(first);
    process.kill(first?.pid ?? 0, "SIGKILL");
    while (first && isAlive(first)) await sleep(2);
    expect(await inside(capsule, "cat kept")).toBe("kept");
    const second = capsule.layout.readHolder();
    expect(second?.pid).not.toBe(first?.pid);
    await capsule.detach();
    expect(second && isAlive(second)).toBe(false);
    expect(markedProcesses().filter(({ mark }) => mark === capsule.layout.dir)).toEqual([]);
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(lab.home);
  });

  it("holder-1 a capsule is mounted once if several ask for it at the same moment", async () => {
    await using lab = new CapsuleLab("overlay", { files: { "a.txt": "1" } });
    const capsule = await lab.create();
    await capsule.detach();
    const views = await Promise.all(Array.from({ length: 4 }, () => capsule.attach()));
    expect(new Set(views.map(({ root }) => root)).size).toBe(1);
    // A second mount would have removed the directory through which the first one copies files up.
    expect(await inside(capsule, "echo more >> a.txt && cat a.txt")).toBe("1more");
  });

  it("holder-1 detaching ends every process that has the mount, and none that only has the capsule's mark", async () => {
    await using lab = new CapsuleLab("overlay");
    const capsule = await lab.create();
    const view = await capsule.attach();
    const start = (argv: readonly string[], env: Record<string, string>) => {
      const [program = "", ...args] = argv;
      const child = spawn(program, args, {
        env: { PATH: process.env["PATH"] ?? "", ...env },
        stdio: "ignore",
      });
      return identityOf(child.pid ?? 0);
    };
    const forged = start(["sleep", "300"], { HOLDFAST_CAPSULE: capsule.layout.dir });
    const stray = start([...view.enter, "sh", "-c", 'cd "$0" && exec sleep 300', view.workTree], {});
    const holder = capsule.layout.readHolder();
    while (!readFileSync(`/proc/${stray.pid}/cmdline`, "utf8").startsWith("sleep")) await sleep(2);
    try {
      // Also when the holder itself is gone, and only the stray keeps the mount.
      process.kill(holder?.pid ?? 0, "SIGKILL");
      while (holder && isAlive(holder)) await sleep(2);
      await capsule.detach();
      expect(isAlive(stray)).toBe(false);
      expect(isAlive(forged)).toBe(true);
    } finally {
      for (const { pid } of [forged, stray]) signalIfThere(pid, "SIGKILL");
    }
  });

  it("a snapshot fails clearly if the holder is killed while files are read, and the next one is whole", async () => {
    await using lab = new CapsuleLab("overlay");
    const capsule = await lab.create();
    await inside(capsule, "mkdir d; i=0; while [ $i -lt 400 ]; do echo $i > d/$i; i=$((i+1)); done");
    let raced = 0;
    for (let round = 0; round < 12; round += 1) {
      await capsule.attach();
      const taking = capsule.snapshot(`r${round}`, limits).then(
        () => "taken",
        (error: unknown) => (isHoldfastError(error) ? error.code : String(error)),
      );
      await sleep(4 * round);
      // The holder on record may be that of the round before, which is just ending.
      signalIfThere(capsule.layout.readHolder()?.pid ?? UNUSED_PID, "SIGKILL");
      const outcome = await taking;
      expect(["taken", "snapshot_raced", "mount_failed"]).toContain(outcome);
      if (outcome !== "taken") raced += 1;
    }
    expect(raced).toBeGreaterThan(0);
    const { manifest } = await capsule.snapshot("last", limits);
    expect(manifest.entries.filter(({ path }) => path.startsWith("d/"))).toHaveLength(400);
  });

  it("holder-2 a holder whose starter is killed before it is on record ends by itself", async () => {
    using temp = new TempDir();
    for (const dir of ["lower", "upper", "work", "tree"]) mkdirSync(temp.join(dir));
    const child = new TestChild("start-holder.ts", [temp.path]);
    await child.line((line) => line === "mounted");
    expect(markedProcesses().some(({ mark }) => mark === temp.path)).toBe(true);
    child.kill("SIGKILL");
    await child.ended();
    const deadline = Date.now() + 10_000;
    while (markedProcesses().some(({ mark }) => mark === temp.path) && Date.now() < deadline) await sleep(5);
    expect(markedProcesses().filter(({ mark }) => mark === temp.path)).toEqual([]);
  });

  it("journal-5 files whose sync failed become no layer, though a second sync would succeed", async () => {
    await using lab = new CapsuleLab("overlay", { files: { a: "a" } });
    const capsule = await lab.create();
    await inside(capsule, "echo work > work");
    const snapshot = await capsule.snapshot("1", limits);
    const failed = Promise.reject(new HoldfastError("disk_full", "the sync failed"));
    failed.catch(() => {});
    await expect(capsule.settle(snapshot, failed)).rejects.toMatchObject({ code: "disk_full" });
    expect(capsule.spec).toMatchObject({ stack: [], settled: null, sealing: null });
    expect(await inside(capsule, "cat work")).toBe("work");
    await capsule.settle(snapshot, capsule.sync());
    expect(capsule.spec).toMatchObject({ stack: [snapshot.commit], settled: snapshot.commit });
  });

  it("layer-1 layers are flattened before there are too many, without a change to the files of capsule or fork", async () => {
    await using lab = new CapsuleLab("overlay", {
      files: { ".gitignore": "big\n", "gone/a": "a", "kept/b": "b" },
    });
    const capsule = await lab.create();
    // `big` is more than a snapshot takes, so only the layers have it.
    await inside(
      capsule,
      "head -c 300000 /dev/urandom > big; rm -r gone; ln -s kept link; mkdir -m 700 locked",
    );
    const few = { ...limits, maxIgnoredBytes: 100_000 };
    let last = await capsule.snapshot("0", few);
    for (let turn = 1; turn <= 25; turn += 1) {
      await inside(capsule, `echo ${turn} > turn-${turn}; echo ${turn} > latest; rm -f turn-${turn - 3}`);
      last = await capsule.snapshot(`${turn}`, few);
      await capsule.settle(last);
    }
    expect(last.manifest.omitted.map(({ path }) => path)).toEqual(["big"]);
    expect(capsule.spec.stack.length).toBeLessThan(20);
    const filesOf = async (one: typeof capsule) => listTree((await one.attach()).root, () => false);
    const files = await filesOf(capsule);
    expect([...files.keys()].filter((path) => !path.startsWith(".git"))).toEqual(
      expect.arrayContaining(["big", "kept/b", "latest", "link", "locked", "turn-25"]),
    );
    expect(files.has("gone/a")).toBe(false);
    const fork = await lab.restore(last.commit);
    expect(await filesOf(fork)).toEqual(files);
  });

  it("layer-2 a snapshot does not read sealed files again, but sees every change since", async () => {
    await using lab = new CapsuleLab("overlay", { files: { ".gitignore": "*.log\n", "base/b": "b\n" } });
    const capsule = await lab.create();
    const paths = async (script: string) => {
      await inside(capsule, script);
      const taken = await capsule.snapshot(`${performance.now()}`, limits);
      const read = taken.learned.files.map(({ path }) => path).filter((path) => !path.startsWith(".git/"));
      // Restored from the store alone: this snapshot has no layer yet.
      const live = listTree((await capsule.attach()).root, (path) => path.startsWith(".git/"));
      const again = await lab.restore(taken.commit);
      expect(listTree((await again.attach()).root, (path) => path.startsWith(".git/"))).toEqual(live);
      await lab.remove(again);
      await capsule.settle(taken);
      const roleOf = (path: string) => taken.manifest.entries.find((entry) => entry.path === path)?.role;
      return { read: read.sort(), roleOf };
    };
    const first = await paths(
      "mkdir x y; echo X > x/p; echo Y > y/p; echo l > l.log; printf 'a\\r\\n' > crlf",
    );
    expect(first.read).toEqual(["crlf", "l.log", "x/p", "y/p"]);
    expect((await paths("true")).read).toEqual([]);
    // The files are the same, but the upper layer is not empty.
    expect((await paths("chmod 600 crlf; chmod 644 crlf")).read.length).toBeLessThan(2);
    expect((await paths("echo new > new")).read.filter((path) => path !== "crlf")).toEqual(["new"]);
    // The same names, other files.
    expect((await paths("mv x t; mv y x; mv t y; mv base base2")).read).not.toContain("l.log");
    // The same size and time.
    expect(
      (await paths("cp -p x/p /tmp/stamp.$$; echo Q > x/p; touch -r /tmp/stamp.$$ x/p; rm /tmp/stamp.$$"))
        .read,
    ).toEqual(["x/p"]);
    expect((await paths("mv x/p x/q; ln x/q x/p; chmod 600 y/p")).read).toContain("x/q");
    const ruled = await paths("echo new >> .gitignore; echo '* text=auto' > .gitattributes");
    expect(ruled.read).toEqual(expect.arrayContaining([".gitattributes", ".gitignore", "crlf", "new"]));
    expect([ruled.roleOf("new"), ruled.roleOf("crlf"), ruled.roleOf("l.log")]).toEqual([
      "ignored",
      "work",
      "ignored",
    ]);
    expect((await paths("rm -r x; mkdir x; echo 1 > x/1")).read).toEqual(["x/1"]);
    // Under another name, git may rule differently on the same file.
    expect((await paths("mv l.log l.txt")).roleOf("l.txt")).toBe("work");
  });
});

it("layer-2 no file is known in a copy of a layer", async () => {
  using temp = new TempDir();
  mkdirSync(temp.join("layer"));
  const file = { inode: "1:1", path: "a", id: "b".repeat(40), role: "work", converted: null } as const;
  await rememberFiles(temp.join("layer"), { rulesKey: "r", files: [file] });
  expect((await KnownFiles.read([temp.join("layer")])).contentOf("1:1")).toBe(file.id);
  execFileSync("cp", ["-a", temp.join("layer"), temp.join("copy")]);
  execFileSync("cp", ["-a", temp.join("layer.files.json"), temp.join("copy.files.json")]);
  expect((await KnownFiles.read([temp.join("copy")])).contentOf("1:1")).toBeUndefined();
});
