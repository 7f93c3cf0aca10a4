/**
 * The parts of a capsule, each against what would break it.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { OpenDir } from "../../src/capsule/files/open-dir.ts";
import { BatchReader } from "../../src/capsule/git/batch-reader.ts";
import { moveToTrash, openStore, publish, sweepTrash } from "../../src/capsule/index.ts";
import { realDisk } from "../../src/util/index.ts";
import { CapsuleLab, inside, limits } from "../support/capsules.ts";
import { TempDir } from "../support/home.ts";
import { gitIn } from "../support/repo.ts";

describe("files that change while they are read", () => {
  it("files-1 a directory that turns into a link while a snapshot is taken never leads out of the capsule", async () => {
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
  it("files-1 a path that has become a pipe or a device is not read, and fails at once", () => {
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

  it("git-2 an object whose bytes do not give its id is refused, however they come, and hides none after it", () => {
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
    expect(() => strict.push(Buffer.from(text))).toThrow("do not match its id");
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

  it("publish-1 work with an object that git would not take is refused as a whole", async () => {
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

  it("publish-1 a branch that another program moves at the last moment stays where it was moved to", async () => {
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

describe("the trash", () => {
  it("directory-1 what is thrown away is gone at once, locked directories too, and its deletion survives being cut off", async () => {
    using temp = new TempDir();
    mkdirSync(temp.join("trash"));
    mkdirSync(temp.join("thing/locked"), { recursive: true });
    writeFileSync(temp.join("thing/locked/file"), "x");
    execFileSync("chmod", ["000", temp.join("thing/locked")]);
    await moveToTrash(realDisk, temp.join("trash"), temp.join("thing"), "one");
    await moveToTrash(realDisk, temp.join("trash"), temp.join("never-there"), "two");
    expect(existsSync(temp.join("thing"))).toBe(false);
    expect(readdirSync(temp.join("trash"))).toEqual(["one"]);
    // A crash came before the deletion. The next process that looks deletes it.
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
