/**
 * Directories that an agent nests far deeper than a process may have descriptors, or a stack has frames.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { describe, expect, it } from "vitest";
import { listedChanges } from "../../src/capsule/files/changes.ts";
import { Cursor } from "../../src/capsule/files/cursor.ts";
import { OpenDir } from "../../src/capsule/files/open-dir.ts";
import { giveOnce, giveTo, takeBack } from "../../src/capsule/files/ownership.ts";
import { removeOthers } from "../../src/capsule/files/removal.ts";
import { TempDir } from "../support/home.ts";

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log("left out: giving files to another user: the tests do not run as root");
/** Some user that a task could have. */
const user = { uid: 60_700, gid: 60_700 };

/** Not with a shell: it keeps track of the whole path, and fails at the limit of the system. */
const NEST = 'for (1..$ARGV[0]) { mkdir "d"; chdir "d" or die } open F, ">f"; print F "bottom"';

class DeepDir extends TempDir {
  readonly top = this.join("top");

  constructor(levels: number) {
    super();
    mkdirSync(this.top);
    execFileSync("perl", ["-e", NEST, String(levels)], { cwd: this.top });
  }

  override [Symbol.dispose](): void {
    execFileSync("rm", ["-rf", this.top]);
    super[Symbol.dispose]();
  }
}

const openFiles = () => readdirSync("/proc/self/fd").length;

describe("directories inside each other, without end", () => {
  it("files-1 a walk keeps a bounded number of them open, and comes back to each", () => {
    using deep = new DeepDir(3000);
    for (let dir = deep.top, level = 0; level < 400; level += 1, dir = `${dir}/d`) mkdirSync(`${dir}/z`);
    using root = OpenDir.root(deep.top);
    const before = openFiles();
    const paths: string[] = [];
    let most = 0;
    for (const change of listedChanges(root, new Map(), "sha1")) {
      most = Math.max(most, openFiles() - before);
      // Its directory can still be read from, also after the walk was far below it.
      if ("entry" in change) expect(change.dir.stat(change.name)).toBeDefined();
      if ("entry" in change) paths.push(change.entry.path);
    }
    expect(paths).toHaveLength(3000 + 1 + 400);
    expect(paths).toContain(`${"d/".repeat(3000)}f`);
    expect(most).toBeLessThan(1000);
    expect(openFiles()).toBe(before);
  });

  it("files-1 a path far down is found, and then one near the top", () => {
    using deep = new DeepDir(3000);
    const before = openFiles();
    {
      using cursor = new Cursor(deep.top);
      const sizeOf = (path: string) => cursor.inParent(path, (dir, name) => dir.stat(name)?.size);
      const deepest = `${"d/".repeat(3000)}f`;
      expect([sizeOf(deepest), sizeOf("d"), sizeOf(deepest)]).toEqual([6, expect.any(Number), 6]);
      expect(openFiles() - before).toBeLessThan(1000);
    }
    expect(openFiles()).toBe(before);
  });

  it("all of them are removed, but for what is kept, and nothing through a link", () => {
    using deep = new DeepDir(12_000);
    const outside = deep.join("outside");
    writeFileSync(outside, "");
    for (const dir of ["kept/a", "kept/b", "locked/c"]) mkdirSync(`${deep.top}/${dir}`, { recursive: true });
    symlinkSync(deep.path, `${deep.top}/kept/link`);
    chmodSync(`${deep.top}/locked`, 0o000);
    {
      using root = OpenDir.root(deep.top);
      removeOthers(root, (path) => path === "kept/a");
    }
    expect(readdirSync(deep.top, { recursive: true })).toEqual(["kept", "kept/a"]);
    expect(existsSync(outside)).toBe(true);
  });

  it.runIf(isRoot)("all of them are given to the task's user", () => {
    using deep = new DeepDir(12_000);
    giveTo(user as never, deep.top);
    const owners = execFileSync("find", [".", "-printf", "%U\n"], { cwd: deep.top, maxBuffer: 2 ** 24 });
    expect(new Set(owners.toString().trim().split("\n"))).toEqual(new Set(["60700"]));
  });

  it.runIf(isRoot)("a directory is given once, and again after Holdfast took it back to write", () => {
    using temp = new TempDir();
    const [dir, file] = [temp.join("home"), temp.join("home", "sub")];
    mkdirSync(file, { recursive: true });
    giveOnce(user as never, dir);
    expect([lstatSync(dir).uid, lstatSync(file).uid]).toEqual([60_700, 60_700]);
    lchownSync(file, 0, 0);
    // Nothing says that Holdfast wrote there, so nothing is looked through.
    giveOnce(user as never, dir);
    expect(lstatSync(file).uid).toBe(0);
    takeBack(dir);
    giveOnce(user as never, dir);
    expect([lstatSync(dir).uid, lstatSync(file).uid]).toEqual([60_700, 60_700]);
  });
});
