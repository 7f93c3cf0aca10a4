/**
 * The parts of a capsule, tested against what could break them.
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
  it("files-1 a snapshot never reads outside the capsule, even if directories turn into links meanwhile", async () => {
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

describe("opening a file", () => {
  it("files-1 fails at once if the path has become a pipe or a device", () => {
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

describe("reading objects from git", () => {
  const said = (type: string, bytes: string, of = bytes) => {
    const id = createHash("sha1").update(`${type} ${of.length}\0${of}`).digest("hex");
    return `${id} ${type} ${bytes.length}\n${bytes}\n`;
  };
  const text = `${said("blob", "good")}${said("blob", "evil", "good")}gone missing\n${said("blob", "")}`;

  it("git-2 refuses an object whose bytes do not match its id, and still reads the objects after it", () => {
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

  it("publish-1 refuses work with an object that git rejects, and adds none of it to the user's repo", async () => {
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

  it("publish-1 leaves a branch alone that another program moves at the last moment", async () => {
    await using lab = new CapsuleLab("worktree");
    const capsule = await lab.create();
    await inside(capsule, "echo work > work");
    const { commit } = await capsule.snapshot("1", limits);
    const theirs = gitIn(lab.main, "rev-parse", "HEAD");
    // The last call before the ref is moved.
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

/** Writes an object without git's checks of its content. */
function writeObject({ gitDir }: { gitDir: string }, type: string, content: string | Buffer): string {
  return execFileSync("git", ["hash-object", "-t", type, "-w", "--stdin", "--literally"], {
    env: { PATH: process.env["PATH"], GIT_DIR: gitDir },
    input: content,
    encoding: "utf8",
  }).trim();
}

describe("the trash", () => {
  it("directory-1 takes in even a locked directory at once, and a later sweep finishes the deletion", async () => {
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

it("git names a blob by the SHA-1 of its header and content", () => {
  using temp = new TempDir();
  writeFileSync(temp.join("f"), "hello\n");
  const id = createHash("sha1").update("blob 6\0hello\n").digest("hex");
  expect(execFileSync("git", ["hash-object", temp.join("f")], { encoding: "utf8" }).trim()).toBe(id);
});
