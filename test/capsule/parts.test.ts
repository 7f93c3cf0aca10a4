/**
 * The parts of a capsule, each against what would break it.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OpenDir } from "../../src/capsule/files/open-dir.ts";
import { decodePath, encodePath, isGitLike, storedPath } from "../../src/capsule/files/path.ts";
import { BatchReader } from "../../src/capsule/git/batch-reader.ts";
import {
  applySnapshot,
  listBases,
  moveToTrash,
  openStore,
  publish,
  type SnapshotManifest,
  sweepTrash,
} from "../../src/capsule/index.ts";
import { KnownFiles, rememberFiles } from "../../src/capsule/layer/known-files.ts";
import { decodeManifest, encodeManifest } from "../../src/capsule/store/manifest.ts";
import { probe } from "../../src/capsule/strategy/probe.ts";
import { isHoldfastError } from "../../src/contract/index.ts";
import { markedProcesses } from "../../src/process/index.ts";
import { identityOf, isAlive, realDisk, signalIfThere } from "../../src/util/index.ts";
import { CapsuleLab, inside, limits } from "../support/capsules.ts";
import { TestChild } from "../support/children.ts";
import { TempDir } from "../support/home.ts";
import { commitFiles, gitIn, listTree } from "../support/repo.ts";

/** Above what any system gives out. */
const UNUSED_PID = 2 ** 30;

const canOverlay = await (async () => {
  using temp = new TempDir();
  return (await probe("overlay", temp.path)).isAvailable;
})();
if (!canOverlay) console.log("left out: tests of overlays, which this machine can't mount");

describe("files that change while they are read", () => {
  it("K2 a directory that turns into a link while a snapshot is taken never leads out of the capsule", async () => {
    await using lab = new CapsuleLab("worktree");
    const outside = lab.temp.join("outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "key"), "OUTSIDE-SECRET");
    const capsule = await lab.create();
    const { root } = await capsule.attach();
    mkdirSync(join(root, "real"));
    writeFileSync(join(root, "real", "key"), "harmless");
    const swap = `while :; do mv real was; ln -s ${outside} real; rm real; mv was real; rm -f f; ln -s ${outside}/key f; rm f; echo harmless > f; done`;
    const swapper = spawn("sh", ["-c", swap], { cwd: root, stdio: "ignore" });
    try {
      for (let round = 0; round < 40; round += 1) await capsule.snapshot(`${round}`, limits).catch(() => {});
    } finally {
      swapper.kill("SIGKILL");
    }
    const store = await capsule.store();
    const all = execFileSync(
      "sh",
      ["-c", "git cat-file --batch-all-objects --batch-check='%(objectname)' | git cat-file --batch"],
      {
        env: { ...process.env, GIT_DIR: store.gitDir },
        encoding: "latin1",
      },
    );
    expect(all).toContain("harmless");
    expect(all).not.toContain("OUTSIDE-SECRET");
  });
});

describe("what has become something else than a plain file", () => {
  it("K2 is not read: a pipe and a device fail at once", () => {
    using temp = new TempDir();
    execFileSync("mkfifo", [temp.join("pipe")]);
    writeFileSync(temp.join("plain"), "content");
    using dir = OpenDir.root(temp.path);
    using file = dir.file("plain");
    expect(Buffer.concat([...file.chunks()]).toString()).toBe("content");
    using devices = OpenDir.root("/dev");
    for (const open of [() => dir.file("pipe"), () => devices.file("zero")])
      expect(open).toThrow(expect.objectContaining({ code: "snapshot_raced" }));
  });
});

describe("what git says of an object", () => {
  const said = (type: string, bytes: string, of = bytes) => {
    const id = createHash("sha1").update(`${type} ${of.length}\0${of}`).digest("hex");
    return `${id} ${type} ${bytes.length}\n${bytes}\n`;
  };
  const text = `${said("blob", "good")}${said("blob", "evil", "good")}gone missing\n${said("blob", "")}`;

  it("K23 is refused where its bytes do not give its id, however they come, and hides none behind it", () => {
    for (const size of [1, 7, 1000]) {
      const [contents, bad]: [string[], number[]] = [[], []];
      const reader = new BatchReader(
        (index, bytes) => {
          contents[index] = (contents[index] ?? "") + bytes.toString();
        },
        (index) => bad.push(index),
      );
      for (let at = 0; at < text.length; at += size) reader.push(Buffer.from(text.slice(at, at + size)));
      expect([reader.done, bad, contents[0], contents[3]]).toEqual([4, [1, 2], "good", ""]);
    }
    const strict = new BatchReader(() => {});
    expect(() => strict.push(Buffer.from(text))).toThrow("not those that were stored");
  });
});

describe("publishing", () => {
  const facts = {
    base: null,
    session: "sess_x",
    branch: "holdfast/x/1",
    ours: [],
    onMove: async () => {},
    identity: { name: "A", email: "a@b" },
  };

  it("K9 work with an object that git would not take is refused as a whole", async () => {
    await using lab = new CapsuleLab("worktree");
    const repo = await lab.repo();
    const store = await openStore(repo, realDisk);
    const blob = writeObject(store, "blob", "evil");
    const row = (mode: string, name: string, id: string) =>
      Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")]);
    const commitOf = (tree: string) =>
      writeObject(
        store,
        "commit",
        `tree ${tree}\nauthor A <a@b> 0 +0000\ncommitter A <a@b> 0 +0000\n\nwork\n`,
      );
    const inner = writeObject(store, "tree", row("100644", "config", blob));
    const evil = commitOf(writeObject(store, "tree", row("40000", ".git", inner)));
    const request = { ...facts, repo, store, disk: realDisk };
    await expect(publish({ ...request, commit: evil })).rejects.toMatchObject({ code: "publish_refused" });
    expect(() => gitIn(lab.main, "cat-file", "-e", evil)).toThrow();
    expect(gitIn(lab.main, "for-each-ref", "refs/heads/holdfast")).toBe("");
    await publish({ ...request, commit: commitOf(inner) });
    expect(gitIn(lab.main, "show", "holdfast/x/1:config")).toBe("evil");
  });

  it("K9 a branch that somebody moves at the very last moment stays where they put it", async () => {
    await using lab = new CapsuleLab("worktree");
    const capsule = await lab.create();
    await inside(capsule, "echo work > work");
    const { commit } = await capsule.snapshot("1", limits);
    const theirs = gitIn(lab.main, "rev-parse", "HEAD");
    // The last thing before the ref is moved.
    const disk: typeof realDisk = {
      ...realDisk,
      syncDir: async (path) => {
        gitIn(lab.main, "update-ref", "refs/heads/holdfast/x/1", theirs);
        await realDisk.syncDir(path);
      },
    };
    const publication = { ...facts, repo: await lab.repo(), store: await capsule.store(), disk, commit };
    await expect(publish(publication)).rejects.toMatchObject({ code: "publish_refused" });
    expect(gitIn(lab.main, "rev-parse", "holdfast/x/1")).toBe(theirs);
  });
});

/** An object as it is, whatever it says. */
function writeObject({ gitDir }: { gitDir: string }, type: string, content: string | Buffer): string {
  return execFileSync("git", ["hash-object", "-t", type, "-w", "--stdin", "--literally"], {
    env: { PATH: process.env["PATH"], GIT_DIR: gitDir },
    input: content,
    encoding: "utf8",
  }).trim();
}

describe("a manifest from somewhere else", () => {
  const hostile = (entries: SnapshotManifest["entries"], gone: string[] = []): SnapshotManifest => {
    return {
      base: null,
      lower: null,
      setupKey: "none",
      branch: "b",
      entries,
      gone,
      converted: [],
      omitted: [],
    };
  };
  const file = (path: string, mode = 0o644) => ({
    path,
    kind: "file" as const,
    mode,
    mtimeMs: 0,
    size: 5,
    role: "work" as const,
  });

  it("K10 nothing is written outside the root, through links of the base or of the manifest, and no set-user-id", async () => {
    await using lab = new CapsuleLab("worktree");
    const outside = lab.temp.join("outside");
    const root = lab.temp.join("root");
    mkdirSync(outside);
    mkdirSync(root);
    writeFileSync(join(outside, "kept"), "kept");
    symlinkSync(outside, join(root, "link"));
    const capsule = await lab.create();
    await inside(capsule, "printf evil! > e");
    const { contents } = await capsule.snapshot("1", limits);
    const id = contents.get("e") ?? "";
    const manifest = hostile(
      [{ ...file("out"), kind: "symlink" }, file("link/evil"), file("out/evil"), file("suid", 0o6755)],
      ["link/kept"],
    );
    const named = new Map(manifest.entries.map(({ path }) => [path, id]));
    await applySnapshot(root, await capsule.store(), manifest, named);
    expect(readdirSync(outside)).toEqual(["kept"]);
    expect(statSync(join(root, "suid")).mode & 0o7777).toBe(0o755);
  });

  it("a FIFO that can't be made is a failure, and not left out in silence", async () => {
    await using lab = new CapsuleLab("worktree");
    const store = await (await lab.create()).store();
    const root = lab.temp.join("root");
    const bin = lab.temp.join("bin");
    mkdirSync(root);
    mkdirSync(bin);
    const manifest = hostile([{ ...file("pipe"), kind: "fifo" }]);
    const path = process.env["PATH"];
    process.env["PATH"] = bin;
    try {
      const applied = () => applySnapshot(root, store, manifest, new Map());
      await expect(applied()).rejects.toMatchObject({ code: "program_missing" });
      writeFileSync(join(bin, "mkfifo"), "#!/bin/sh\necho 'not on this disk' >&2\nexit 1\n", { mode: 0o755 });
      await expect(applied()).rejects.toMatchObject({
        code: "file_unwritable",
        message: expect.stringContaining("not on this disk"),
      });
    } finally {
      process.env["PATH"] = path;
    }
    await applySnapshot(root, store, manifest, new Map());
    expect(readdirSync(root)).toEqual(["pipe"]);
  });

  it("K10 a path below a file, or twice, is refused; what git takes for its own is never work", () => {
    const decoded = (...entries: SnapshotManifest["entries"]) =>
      decodeManifest(encodeManifest(hostile(entries))).entries.map(({ role }) => role);
    for (const kind of ["file", "symlink", "fifo"] as const)
      expect(() => decoded({ ...file("x"), kind }, file("x/y")), kind).toThrow(
        expect.objectContaining({ code: "snapshot_invalid" }),
      );
    expect(() => decoded(file("x"), file("x"))).toThrow(
      expect.objectContaining({ code: "snapshot_invalid" }),
    );
    expect(decoded({ ...file("x"), kind: "dir" }, file("x/y"))).toEqual(["work", "work"]);
    expect(decoded(file(".git/config"), file("sub/.GIT/config"), file("a/git~1"))).toEqual([
      "gitdir",
      "aside",
      "aside",
    ]);
  });

  it("paths that climb are refused, and every other one survives the way to JSON and back", () => {
    for (const path of ["../x", "/etc/passwd", "a//b", "a/./b", "a/../b", "", "a\0b"]) {
      expect(() => decodePath(path), path).toThrow(expect.objectContaining({ code: "snapshot_invalid" }));
      const row = [path, "file", 0o644, 0, 0, "work"];
      const text = JSON.stringify({ ...JSON.parse(encodeManifest(hostile([])).toString()), entries: [row] });
      expect(() => decodeManifest(Buffer.from(text))).toThrow();
    }
    const name = fc
      .uint8Array({ minLength: 1, maxLength: 20 })
      .map((bytes) => Buffer.from(bytes).toString("latin1").replace(/[\0/]/g, "_"));
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (parts) => {
        fc.pre(parts.every((part) => part !== "." && part !== ".."));
        const path = parts.join("/");
        expect(decodePath(JSON.parse(JSON.stringify(encodePath(path))))).toBe(path);
        expect(storedPath(path).split("/").some(isGitLike)).toBe(false);
      }),
    );
    for (const name of [
      ".git",
      ".GIT",
      "git~1",
      ".git ",
      ".git.",
      ".g\u200cit",
      ".git::$INDEX_ALLOCATION",
      "a\\.git",
    ])
      expect(isGitLike(Buffer.from(name).toString("latin1")), name).toBe(true);
    for (const name of [".gitignore", "git", "x.git", ".github"]) expect(isGitLike(name), name).toBe(false);
  });
});

describe.skipIf(!canOverlay)("bases", () => {
  it("K11 twenty tasks at once wait for one builder, and share what it built", async () => {
    await using lab = new CapsuleLab("overlay", { files: { "a.txt": "1", ".gitignore": "deps\n" } });
    const setup = "sleep 0.5; mkdir deps; head -c 16 /dev/urandom | od -An -tx1 > deps/id";
    const capsules = await Promise.all(Array.from({ length: 20 }, () => lab.create({ setup })));
    const ids = await Promise.all(capsules.map((capsule) => inside(capsule, "cat deps/id")));
    expect(new Set(ids).size).toBe(1);
    expect(await listBases(await lab.repo())).toHaveLength(1);
  });

  it("a commit near a base stands on it, with its own files and a clean status; one with other lock files does not", async () => {
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

  it("a commit that a task made stands on a base of the user's, or on one of its own", async () => {
    await using lab = new CapsuleLab("overlay");
    gitIn(lab.main, "checkout", "-q", "-b", "holdfast/s/1");
    const made = commitFiles(lab.main, { "a.txt": "by a task" }, "made by a task");
    gitIn(lab.main, "checkout", "-q", "main");
    await lab.create({}, made);
    await lab.create({}, made);
    expect(await listBases(await lab.repo()), "nobody else's to build on").toHaveLength(2);
    await lab.create();
    const near = await lab.create({}, made);
    expect(await inside(near, "cat a.txt; git status --porcelain")).toBe("by a task");
    expect(near.spec.lower).toBe(gitIn(lab.main, "rev-parse", "main"));
  });
});

describe.skipIf(!canOverlay)("overlays", () => {
  it("K12 a capsule has one holder; when that is killed, the next use mounts again, with nothing lost", async () => {
    await using lab = new CapsuleLab("overlay");
    const capsule = await lab.create();
    await inside(capsule, "echo kept > kept");
    const first = capsule.place.readHolder();
    await capsule.attach();
    expect(capsule.place.readHolder()).toEqual(first);
    process.kill(first?.pid ?? 0, "SIGKILL");
    while (first && isAlive(first)) await sleep(2);
    expect(await inside(capsule, "cat kept")).toBe("kept");
    const second = capsule.place.readHolder();
    expect(second?.pid).not.toBe(first?.pid);
    await capsule.detach();
    expect(second && isAlive(second)).toBe(false);
    expect(markedProcesses().filter(({ mark }) => mark === capsule.place.dir)).toEqual([]);
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(lab.home);
  });

  it("K12 whoever only carries a capsule's mark is left alone; whoever has its mount is ended, with or without the mark", async () => {
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
    const forged = start(["sleep", "300"], { HOLDFAST_CAPSULE: capsule.place.dir });
    const stray = start([...view.enter, "sh", "-c", 'cd "$0" && exec sleep 300', view.workTree], {});
    const holder = capsule.place.readHolder();
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

  it("a holder that is killed while files are read: the snapshot says so, and the next one is whole", async () => {
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
      // The one of the round before may be the one that is just ending.
      signalIfThere(capsule.place.readHolder()?.pid ?? UNUSED_PID, "SIGKILL");
      const outcome = await taking;
      expect(["taken", "snapshot_raced", "mount_failed"]).toContain(outcome);
      if (outcome !== "taken") raced += 1;
    }
    expect(raced).toBeGreaterThan(0);
    const { manifest } = await capsule.snapshot("last", limits);
    expect(manifest.entries.filter(({ path }) => path.startsWith("d/"))).toHaveLength(400);
  });

  it("Q1 a holder whose starter is killed before it is on record ends by itself", async () => {
    using temp = new TempDir();
    for (const dir of ["lower", "upper", "work", "tree"]) mkdirSync(temp.join(dir));
    const child = new TestChild("start-holder.ts", [temp.path]);
    await child.line((line) => line === "mounted");
    expect(markedProcesses().filter(({ mark }) => mark === temp.path)).toHaveLength(1);
    child.kill("SIGKILL");
    await child.ended();
    const deadline = Date.now() + 10_000;
    while (markedProcesses().some(({ mark }) => mark === temp.path) && Date.now() < deadline) await sleep(5);
    expect(markedProcesses().filter(({ mark }) => mark === temp.path)).toEqual([]);
  });

  it("K13 layers are flattened before there are too many: nothing is lost, and every fork is the same", async () => {
    await using lab = new CapsuleLab("overlay", {
      files: { ".gitignore": "big\n", "gone/a": "a", "kept/b": "b" },
    });
    const capsule = await lab.create();
    // More than a snapshot takes, so that only the layers have it.
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

  it("K22 what a sealed layer has is not read again, and whatever is done to it since is seen", async () => {
    await using lab = new CapsuleLab("overlay", { files: { ".gitignore": "*.log\n", "base/b": "b\n" } });
    const capsule = await lab.create();
    const paths = async (script: string) => {
      await inside(capsule, script);
      const taken = await capsule.snapshot(`${performance.now()}`, limits);
      const read = taken.learned.files.map(({ path }) => path).filter((path) => !path.startsWith(".git/"));
      // As the store has it, without any layer.
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
    // The same snapshot once more, with something in the upper layer.
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
    // Of another name git may say something else.
    expect((await paths("mv l.log l.txt")).roleOf("l.txt")).toBe("work");
  });
});

it("K22 in a copy of a layer nothing is known", async () => {
  using temp = new TempDir();
  mkdirSync(temp.join("layer"));
  const file = { inode: "1:1", path: "a", id: "b".repeat(40), role: "work", converted: null } as const;
  await rememberFiles(temp.join("layer"), { rulesKey: "r", files: [file] });
  expect((await KnownFiles.read([temp.join("layer")])).contentOf("1:1")).toBe(file.id);
  execFileSync("cp", ["-a", temp.join("layer"), temp.join("copy")]);
  execFileSync("cp", ["-a", temp.join("layer.files.json"), temp.join("copy.files.json")]);
  expect((await KnownFiles.read([temp.join("copy")])).contentOf("1:1")).toBeUndefined();
});

describe("the trash", () => {
  it("K14 what is thrown away is gone at once, locked directories too, and its deletion survives being cut off", async () => {
    using temp = new TempDir();
    mkdirSync(temp.join("trash"));
    mkdirSync(temp.join("thing/locked"), { recursive: true });
    writeFileSync(temp.join("thing/locked/file"), "x");
    execFileSync("chmod", ["000", temp.join("thing/locked")]);
    await moveToTrash(realDisk, temp.join("trash"), temp.join("thing"), "one");
    await moveToTrash(realDisk, temp.join("trash"), temp.join("never-there"), "two");
    expect(existsSync(temp.join("thing"))).toBe(false);
    expect(readdirSync(temp.join("trash"))).toEqual(["one"]);
    // Nobody deleted it yet: a crash. The next one to look does.
    expect(await sweepTrash(temp.join("trash"))).toBe(1);
    const deadline = Date.now() + 10_000;
    while (readdirSync(temp.join("trash")).length > 0 && Date.now() < deadline) await sleep(5);
    expect(readdirSync(temp.join("trash"))).toEqual([]);
  });
});

it("git's own names for contents are ours", () => {
  using temp = new TempDir();
  writeFileSync(temp.join("f"), "hello\n");
  const id = createHash("sha1").update("blob 6\0hello\n").digest("hex");
  expect(execFileSync("git", ["hash-object", temp.join("f")], { encoding: "utf8" }).trim()).toBe(id);
});
