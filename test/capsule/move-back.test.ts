/**
 * A user's checkout whose update fails, or is cut off, gets its files back. A person's changes stay.
 */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { finishMove, moveTarget } from "../../src/capsule/index.ts";
import { realDisk } from "../../src/util/index.ts";
import { identity, MergeLab } from "../support/merging.ts";
import { gitIn, listTree } from "../support/repo.ts";

const refused = (message: RegExp) => ({ code: "merge_refused", message: expect.stringMatching(message) });
const at = (lab: MergeLab, path: string) => readFileSync(join(lab.main, path), "utf8");
const isIndex = (path: string) => /^\.git\/(index$|objects)/.test(path);

describe("a user's branch whose checkout is updated", () => {
  it("move-1 gets its checkout back as it was if the files can't be updated, and the error names what can't be", async () => {
    using lab = new MergeLab({ "a.up": "a\n", "c.txt": "c\n", "gone/deep/x": "x\n", "z.up": "z\n" });
    writeFileSync(join(lab.main, ".gitattributes"), "*.up filter=up\n");
    // The filter fails at any content that it is told to fail at.
    const bad = lab.join("bad");
    writeFileSync(bad, "bad\n");
    gitIn(lab.main, "config", "filter.up.required", "true");
    gitIn(lab.main, "config", "filter.up.clean", "cat");
    gitIn(lab.main, "config", "filter.up.smudge", `sh -c 'c=$(cat); ! grep -qxF "$c" ${bad} && echo "$c"'`);
    lab.commitOn("main", {}, "with a filter");
    gitIn(lab.main, "checkout", "-q", "-b", "work");
    gitIn(lab.main, "rm", "-qr", "gone", "c.txt");
    writeFileSync(join(lab.main, "gone"), "a file now\n");
    lab.commitOn("work", { "a.up": "new a\n", "c.txt/d": "d\n", "new/dir/n": "n\n", "z.up": "bad\n" });
    mkdirSync(join(lab.main, "mine"));
    writeFileSync(join(lab.main, "mine/untracked"), "mine\n");
    const before = listTree(lab.main, isIndex);
    const { repo, store } = await lab.open();
    const [tip, commit] = [lab.idOf("main"), lab.idOf("work")];
    const move = { repo, disk: realDisk, branch: "main", commit, reason: "x", identity };
    const merge = () => moveTarget({ ...move, store, tip, onMove: async () => {} });
    await expect(merge()).rejects.toMatchObject(refused(/all of them are as they were: .*smudge/s));
    expect(listTree(lab.main, isIndex)).toEqual(before);
    expect(gitIn(lab.main, "status", "--porcelain")).toBe("?? mine/");
    // Where not even the old content passes, that file is named.
    writeFileSync(bad, "bad\nz\n");
    await expect(merge()).rejects.toMatchObject({
      ...refused(/z\.up could not be brought back, and all others are as they were/),
      facts: { paths: ["z.up"] },
    });
    expect(existsSync(join(lab.main, "z.up"))).toBe(false);
    writeFileSync(bad, "");
    gitIn(lab.main, "checkout", "--", "z.up");
    expect(listTree(lab.main, isIndex)).toEqual(before);
    expect(await merge()).toBe(true);
  });

  it("gets its checkout back if git was killed in the middle, and not if a person's change is among the files", async () => {
    using lab = new MergeLab({ "a.up": "a\n", "b.up": "b\n", "z.up": "z\n" });
    writeFileSync(join(lab.main, ".gitattributes"), "*.up filter=up\n");
    lab.commitOn("main", {}, "with a filter");
    lab.commitOn("work", { "a.up": "new a\n", "dir/new.up": "new\n", "z.up": "bad\n" });
    const before = listTree(lab.main, isIndex);
    const { repo, store } = await lab.open();
    const [tip, commit] = [lab.idOf("main"), lab.idOf("work")];
    const move = { repo, disk: realDisk, branch: "main", commit, reason: "x", identity };
    const kill = 'c=$(cat); [ "$c" != bad ] && echo "$c" || kill -9 $PPID';
    const cut = () => {
      gitIn(lab.main, "config", "filter.up.smudge", kill);
      expect(() => gitIn(lab.main, "read-tree", "-m", "-u", tip, commit)).toThrow();
      gitIn(lab.main, "config", "--remove-section", "filter.up");
      expect(at(lab, "a.up") + at(lab, "dir/new.up")).toBe("new a\nnew\n");
      expect(existsSync(join(lab.main, ".git/index.lock"))).toBe(true);
    };
    cut();
    expect(await finishMove(move)).toBe(false);
    expect(listTree(lab.main, isIndex)).toEqual(before);
    expect(gitIn(lab.main, "status", "--porcelain")).toBe("");
    // Nothing is half done now: such files are a person's own.
    gitIn(lab.main, "checkout", "work", "--", "dir/new.up");
    gitIn(lab.main, "rm", "-q", "--cached", "dir/new.up");
    expect(await finishMove(move)).toBe(false);
    expect(at(lab, "dir/new.up")).toBe("new\n");
    rmSync(join(lab.main, "dir"), { recursive: true });
    rmSync(join(lab.main, "z.up"));
    expect(await finishMove(move)).toBe(false);
    expect(existsSync(join(lab.main, "z.up"))).toBe(false);
    gitIn(lab.main, "checkout", "--", "z.up");
    cut();
    writeFileSync(join(lab.main, "b.up"), "by a person\n");
    const cutOff = listTree(lab.main);
    expect(await finishMove(move)).toBeUndefined();
    expect(listTree(lab.main)).toEqual(cutOff);
    writeFileSync(join(lab.main, "b.up"), "b\n");
    // Someone may have the lock.
    const lock = openSync(join(lab.main, ".git/index.lock"), "r");
    expect(await finishMove(move)).toBeUndefined();
    expect(at(lab, "a.up")).toBe("new a\n");
    closeSync(lock);
    expect(await finishMove(move)).toBe(false);
    expect(listTree(lab.main, isIndex)).toEqual(before);
    const target = { ...move, store, tip, onMove: async () => {} };
    // A git that is killed while Holdfast waits for it leaves the same.
    gitIn(lab.main, "config", "filter.up.smudge", kill);
    const withFilter = listTree(lab.main, isIndex);
    await expect(moveTarget(target)).rejects.toMatchObject(refused(/all of them are as they were/));
    expect(listTree(lab.main, isIndex)).toEqual(withFilter);
    gitIn(lab.main, "config", "--remove-section", "filter.up");
    expect(await moveTarget(target)).toBe(true);
  });
});
