/**
 * Which object stores a line in a repo's alternates may show to a task. Each refused store here is a good one
 * except for a single thing.
 */
import { chownSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { sandboxAround } from "../../src/capsule/index.ts";
import { borrowedObjects } from "../../src/capsule/life/borrowed.ts";
import { makeHomeRuntimeDir } from "../../src/mail/index.ts";
import { CapsuleLab } from "../support/capsules.ts";
import { TempDir } from "../support/home.ts";
import { NOBODY } from "../support/nobody.ts";

const isRoot = process.getuid?.() === 0;

class Stores extends TempDir {
  readonly own = this.make("own");
  readonly home = this.join("home");

  constructor() {
    super();
    mkdirSync(this.home);
  }

  make(...parts: string[]): string {
    const path = join(realpathSync(this.path), ...parts);
    for (const dir of ["pack", "info", "ab"]) mkdirSync(join(path, dir), { recursive: true });
    return path;
  }

  /** The stores that a home at this path shows when the repo borrows from the named ones. */
  shown(named: readonly string[], home = this.home): string[] {
    writeFileSync(join(this.own, "info", "alternates"), named.map((path) => `${path}\n`).join(""));
    return borrowedObjects(home, this.own);
  }
}

describe("borrowed-1 a task's sandbox", () => {
  it("shows a git object store that the repo borrows from, but no directory that only resembles one", () => {
    using stores = new Stores();
    const good = stores.make("good");
    expect(stores.shown([good])).toEqual([good]);
    const other = stores.make("other");
    writeFileSync(join(other, "id_rsa"), "");
    const bare = stores.make("bare");
    for (const dir of ["pack", "info"]) rmSync(join(bare, dir), { recursive: true });
    const linked = stores.make("linked");
    for (const dir of ["pack", "info"]) {
      rmSync(join(linked, dir), { recursive: true });
      symlinkSync(join(good, dir), join(linked, dir));
    }
    const many = stores.make("many");
    for (let number = 0; number < 2000; number += 1) writeFileSync(join(many, `tmp_${number}`), "");
    expect(stores.shown([other, bare, linked, many, good])).toEqual([good]);
  });

  it("shows no borrowed store inside a home, among its sockets, or around this home", () => {
    using stores = new Stores();
    const runtime = makeHomeRuntimeDir(stores.home);
    try {
      const inHome = stores.make("home", "repos", "x", "objects");
      const inRuntime = join(runtime, "objects");
      mkdirSync(join(inRuntime, "pack"), { recursive: true });
      const ofAnother = stores.make("another", "repos", "x", "objects");
      expect(stores.shown([ofAnother])).toEqual([ofAnother]);
      writeFileSync(stores.join("another", "home.json"), "{}");
      mkdirSync(stores.join("another", "sessions"));
      expect(stores.shown([inHome, inRuntime, ofAnother])).toEqual([]);
      const around = stores.make("around");
      expect(stores.shown([around])).toEqual([around]);
      expect(stores.shown([around], join(around, "pack", "home"))).toEqual([]);
    } finally {
      rmSync(runtime, { recursive: true });
    }
  });

  if (!isRoot) console.log("left out: a store of another user's: only root can make one");
  it.skipIf(!isRoot)("shows another user's store only if the repo belongs to that user, too", () => {
    using stores = new Stores();
    const theirs = stores.make("theirs");
    chownSync(theirs, NOBODY, NOBODY);
    expect(stores.shown([theirs])).toEqual([]);
    chownSync(stores.own, NOBODY, NOBODY);
    expect(stores.shown([theirs])).toEqual([theirs]);
  });

  it("follows a chain of alternates exactly as far as git does", () => {
    using stores = new Stores();
    const chain = Array.from({ length: 7 }, (_, index) => stores.make(`link-${index}`));
    for (const [index, path] of chain.entries())
      writeFileSync(join(path, "info", "alternates"), `${chain[index + 1] ?? ""}\n`);
    expect(stores.shown(chain.slice(0, 1))).toEqual(chain.slice(0, 5));
  });

  it("is refused if the repo's objects are a link into the home", async () => {
    await using lab = new CapsuleLab("worktree");
    const repo = await lab.repo();
    const inHome = join(lab.home, "repos", "x", "objects");
    for (const dir of ["pack", "info"]) mkdirSync(join(inHome, dir), { recursive: true });
    const objects = join(dirname(repo.objects), "elsewhere");
    symlinkSync(inHome, objects);
    expect(() => sandboxAround(lab.home, { ...repo, objects }, "sess_1")).toThrow(
      expect.objectContaining({ code: "not_a_repo" }),
    );
  });
});
