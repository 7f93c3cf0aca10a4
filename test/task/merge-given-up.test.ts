/**
 * Merges that fail, or are cut off, after their intent is on record: nothing touches the user's checkout later.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LocalHome } from "../../src/library/local-home.ts";
import { TestChild } from "../support/children.ts";
import { GitWrapper } from "../support/git-wrapper.ts";
import { eventsOf, worked } from "../support/merging.ts";
import { gitIn, listTree } from "../support/repo.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

const FILES = { "a.txt": "1\n2\n3\n", "b.txt": "b\n" };

const at = (home: TaskHome, path: string) => readFileSync(join(home.main, path), "utf8");
const status = (home: TaskHome) => gitIn(home.main, "status", "--porcelain");
const typesOf = async (hf: LocalHome, id: string) =>
  (await eventsOf(hf, id, /merge/)).map(({ type }) => type);

/** What a person may do by hand after a merge did not happen, and what their checkout is then. */
const BY_HAND = [
  [
    "has a file of the merge, not staged",
    (home: TaskHome, branch: string) =>
      writeFileSync(join(home.main, "a.txt"), `${gitIn(home.main, "show", `${branch}:a.txt`)}\n`),
    " M a.txt",
  ],
  [
    "has all of it from git merge --squash",
    (home: TaskHome, branch: string) => void gitIn(home.main, "merge", "-q", "--squash", branch),
    "M  a.txt",
  ],
] as const;

/** Everything of a session that looks for a merge that was cut off. */
async function nextTask(hf: LocalHome, id: string): Promise<void> {
  const session = await hf.resumeSession(id);
  const task = await hf.startTask(session, sandbox);
  await turn(task, "true");
  await task.end("done");
  await session.pause();
}

describe("a merge that did not reach the branch", () => {
  it.each(BY_HAND)("because the files could not be updated is over, if the checkout %s", async (...row) => {
    const [, byHand, expected] = row;
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, "echo one > a.txt");
    writeFileSync(join(home.main, ".git/info/attributes"), "*.txt filter=up\n");
    gitIn(home.main, "config", "filter.up.required", "true");
    gitIn(home.main, "config", "filter.up.clean", "cat");
    gitIn(home.main, "config", "filter.up.smudge", `sh -c 'c=$(cat); [ "$c" != one ] && echo "$c"'`);
    const before = gitIn(home.main, "rev-parse", "main");
    await expect(hf.mergeSession(id)).rejects.toMatchObject({ code: "merge_refused" });
    expect(status(home)).toBe("");
    expect(await typesOf(hf, id)).toEqual(["merge_started", "merge_given_up"]);
    gitIn(home.main, "config", "--remove-section", "filter.up");
    byHand(home, home.branchOf(id));
    await nextTask(hf, id);
    expect(status(home)).toBe(expected);
    expect(at(home, "a.txt")).toBe("one\n");
    expect(gitIn(home.main, "rev-parse", "main")).toBe(before);
    expect((await hf.auditSession(id)).findings).toEqual([]);
  });

  it.each(BY_HAND)("because of a kill before its files is over, if the checkout %s", async (...row) => {
    const [, byHand, expected] = row;
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, "echo one > a.txt");
    const before = gitIn(home.main, "rev-parse", "main");
    await using child = new TestChild("move-and-die.ts", [home.dir, id, "merge", "after", "merge_started"]);
    await child.ended();
    const isLocked = () => existsSync(join(home.main, ".git/refs/heads/main.lock"));
    await expect.poll(isLocked, { timeout: 60_000 }).toBe(false);
    byHand(home, home.branchOf(id));
    await nextTask(hf, id);
    expect(status(home)).toBe(expected);
    expect(gitIn(home.main, "rev-parse", "main")).toBe(before);
    expect(await typesOf(hf, id)).toEqual(["merge_started", "merge_given_up"]);
  });

  it("because git could not move it gives the checkout its files back", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, "echo one > a.txt; mkdir dir; echo n > dir/n.txt");
    // Git writes the log of a branch when it moves it, after the lock.
    const [log, aside] = [join(home.main, ".git/logs/refs/heads/main"), home.join("log")];
    renameSync(log, aside);
    mkdirSync(join(log, "in-the-way"), { recursive: true });
    writeFileSync(join(log, "in-the-way/file"), "");
    const isIndex = (path: string) => /^\.git\/(index$|objects)/.test(path);
    const before = listTree(home.main, isIndex);
    await expect(hf.mergeSession(id)).rejects.toMatchObject({
      code: "merge_refused",
      message: expect.stringMatching(/main could not be moved: .*logs/s),
    });
    expect(status(home)).toBe("");
    expect(existsSync(join(home.main, "dir"))).toBe(false);
    expect(listTree(home.main, isIndex)).toEqual(before);
    expect(await typesOf(hf, id)).toEqual(["merge_started", "merge_given_up"]);
    rmSync(log, { recursive: true });
    renameSync(aside, log);
    await hf.mergeSession(id);
    expect(at(home, "dir/n.txt")).toBe("n\n");
  });

  it("because another git has the index locked leaves no record; one that has it for a moment is waited for", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, "echo one > a.txt");
    const lock = join(home.main, ".git/index.lock");
    // The time alone differs, so git has to write the index before it updates the files.
    const touch = () => writeFileSync(join(home.main, "b.txt"), "b\n");
    touch();
    writeFileSync(lock, "");
    await expect(hf.mergeSession(id)).rejects.toMatchObject({ code: "merge_refused" });
    expect(existsSync(lock)).toBe(true);
    expect(await typesOf(hf, id)).toEqual([]);
    // The lock is gone after the first attempt of each command that needs it.
    const seen = home.join("seen");
    const first = `[ -e ${seen}-$word ] || { touch ${seen}-$word; : > ${lock}; git "$@"; code=$?; rm ${lock}; exit $code; }`;
    rmSync(lock);
    touch();
    {
      using _ = new GitWrapper(`for word; do case $word in update-index|read-tree) ${first} ;; esac; done`);
      await hf.mergeSession(id);
    }
    expect([existsSync(`${seen}-update-index`), existsSync(`${seen}-read-tree`)]).toEqual([true, true]);
    expect(at(home, "a.txt")).toBe("one\n");
    expect(await typesOf(hf, id)).toEqual(["merge_started", "work_merged"]);
  });
});
