/**
 * Merges of a session's work into one of the user's branches.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openHome } from "../../src/home/index.ts";
import type { LocalHome } from "../../src/library/local-home.ts";
import { roomOf } from "../../src/task/index.ts";
import { mergeWork, type VerifyTree } from "../../src/task/results/merging.ts";
import { TestChild } from "../support/children.ts";
import { eventsOf, worked } from "../support/merging.ts";
import { commitFiles, fingerprint, gitIn } from "../support/repo.ts";
import { inCapsule, sandbox, TaskHome, turn } from "../support/tasks.ts";

const FILES = { "a.txt": "1\n2\n3\n4\n5\n", "b.txt": "b\n" };

async function again(hf: LocalHome, id: string, script: string) {
  const session = await hf.resumeSession(id);
  const task = await hf.startTask(session, sandbox);
  await turn(task, script);
  const end = await task.end("done");
  await session.pause();
  return { base: task.base, end };
}

const log = (home: TaskHome) => gitIn(home.main, "log", "--format=%s", "--reverse").split("\n");

describe("a merge", () => {
  it("puts the work on the branch's current tip, and the next task begins there", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, "echo n > n.txt");
    commitFiles(home.main, { "c.txt": "c\n" }, "by a person");
    const { commit, into, from, isNew, verdict, commits } = await hf.mergeSession(id);
    expect({ into, isNew, verdict, commits }).toEqual({
      into: "main",
      isNew: true,
      verdict: "unverified",
      commits: 1,
    });
    expect(gitIn(home.main, "rev-parse", "main")).toBe(commit);
    expect(log(home)).toEqual(["the first", "by a person", "it did echo n > n.txt"]);
    expect(gitIn(home.main, "status", "--porcelain")).toBe("");
    expect(readFileSync(join(home.main, "n.txt"), "utf8")).toBe("n\n");
    expect(gitIn(home.main, "rev-parse", home.branchOf(id))).toBe(from);
    expect(await eventsOf(hf, id, /merge/)).toMatchObject([
      { type: "merge_started", data: { into: "main", commit, from } },
      { type: "work_merged", data: { into: "main", commit, from } },
    ]);
    await expect(hf.mergeSession(id)).rejects.toMatchObject({ code: "nothing_to_merge" });
    commitFiles(home.main, { "d.txt": "d\n" }, "by a person, later");
    const next = await again(hf, id, "cat c.txt d.txt > e.txt");
    expect(next.base).toBe(gitIn(home.main, "rev-parse", "main"));
    expect(next.end.stat.paths).toEqual(["e.txt"]);
    await hf.mergeSession(id);
    expect(readFileSync(join(home.main, "e.txt"), "utf8")).toBe("c\nd\n");
    expect(gitIn(home.main, "rev-list", "--count", "--merges", "main")).toBe("0");
  });

  it("that is squashed makes one commit; the next task begins there, and the next merge takes only new work", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, "echo n > n.txt");
    await again(hf, id, "echo m > m.txt");
    await hf.mergeSession(id, { isSquashed: true, isUnverified: true });
    expect(log(home)).toEqual(["the first", "it did echo n > n.txt"]);
    expect(await eventsOf(hf, id, /work_merged/)).toMatchObject([
      { data: { isSquashed: true, isUnverified: true } },
    ]);
    const { base } = await again(hf, id, "echo changed >> n.txt");
    expect(base).toBe(gitIn(home.main, "rev-parse", "main"));
    expect(await hf.mergeSession(id)).toMatchObject({ commits: 1 });
    expect(readFileSync(join(home.main, "n.txt"), "utf8")).toBe("n\nchanged\n");
  });

  it("leaves out what a rewind has undone, as conflicts does, and a rewind forward brings it back", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, "echo kept > kept.txt");
    await again(hf, id, "echo bad > bad.txt; echo bad > b.txt");
    const other = await worked(home, hf, "echo other > b.txt");
    const collided = async () => (await hf.findConflicts()).flatMap(({ conflicts }) => conflicts);
    expect(await collided()).toMatchObject([{ paths: ["b.txt"] }]);
    await hf.rewindSession(id, 1);
    expect(await collided()).toEqual([]);
    expect(await hf.mergeSession(id)).toMatchObject({ commits: 1, isNew: true });
    expect(readFileSync(join(home.main, "kept.txt"), "utf8")).toBe("kept\n");
    expect(existsSync(join(home.main, "bad.txt"))).toBe(false);
    await hf.rewindSession(id, 2);
    expect(await hf.mergeSession(id)).toMatchObject({ commits: 1 });
    expect(existsSync(join(home.main, "bad.txt"))).toBe(true);
    await hf.rewindSession(other, 0);
    await expect(hf.mergeSession(other)).rejects.toMatchObject({
      code: "nothing_to_merge",
      message: expect.stringContaining("a rewind has undone all work"),
    });
    expect(readFileSync(join(home.main, "b.txt"), "utf8")).toBe("bad\n");
  });

  it("includes a person's commits on the session's branch, and the session goes on after them", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, "echo n > n.txt");
    const branch = home.branchOf(id);
    gitIn(home.main, "checkout", "-q", branch);
    commitFiles(home.main, { "n.txt": "n, mended\n" }, "mended by a person");
    gitIn(home.main, "checkout", "-q", "main");
    await hf.mergeSession(id, { isSquashed: true });
    const next = await again(hf, id, "echo more >> n.txt");
    expect(next.end).toMatchObject({ branch, unpublished: null });
    await hf.mergeSession(id);
    expect(readFileSync(join(home.main, "n.txt"), "utf8")).toBe("n, mended\nmore\n");
  });

  it("of commits that conflict only one by one names --squash, and conflicts and --resolve agree", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, "sed -i s/1/one/ a.txt");
    await again(hf, id, "sed -i s/one/1/ a.txt; echo n > n.txt");
    commitFiles(home.main, { "a.txt": "eins\n2\n3\n4\n5\n" }, "by a person");
    expect(await hf.findConflicts()).toMatchObject([{ sessions: 1, conflicts: [] }]);
    const before = fingerprint(home.main);
    await expect(hf.mergeSession(id)).rejects.toMatchObject({
      code: "merge_conflicts",
      message: expect.stringMatching(/both change a\.txt: .*--squash$/),
      facts: { paths: ["a.txt"] },
    });
    await expect(hf.giveBackConflict(id)).rejects.toMatchObject({
      code: "merge_refused",
      message: expect.stringMatching(/does not conflict with main: .*--squash$/),
    });
    expect(fingerprint(home.main)).toBe(before);
    await hf.mergeSession(id, { isSquashed: true });
    expect(readFileSync(join(home.main, "a.txt"), "utf8")).toBe("eins\n2\n3\n4\n5\n");
    expect(existsSync(join(home.main, "n.txt"))).toBe(true);
  });

  it("with a conflict changes nothing and records the paths; one with unpublished work is refused", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const nothing = await hf.openSession({ repo: home.main });
    await nothing.pause();
    await expect(hf.mergeSession(nothing.id)).rejects.toMatchObject({ code: "nothing_to_merge" });
    const id = await worked(home, hf, "echo work > a.txt");
    commitFiles(home.main, { "a.txt": "main\n" }, "by a person");
    const before = fingerprint(home.main);
    const merging = hf.mergeSession(id);
    await expect(merging).rejects.toMatchObject({
      code: "merge_conflicts",
      exitStatus: 8,
      message: expect.stringMatching(/both change a\.txt: .*--resolve$/),
      facts: { paths: ["a.txt"] },
    });
    expect(await eventsOf(hf, id, /merge/)).toMatchObject([
      { type: "merge_conflicted", data: { into: "main", paths: ["a.txt"] } },
    ]);
    expect(fingerprint(home.main)).toBe(before);
    await expect(hf.mergeSession(id, { into: "nowhere" })).rejects.toMatchObject({
      code: "branch_not_found",
    });
    const session = await hf.resumeSession(id);
    const task = await hf.startTask(session, sandbox);
    await turn(task, "echo more > more.txt");
    await expect(hf.mergeSession(id)).rejects.toMatchObject({ code: "session_owned" });
    await task.end("failed");
    await session.pause();
    await expect(hf.mergeSession(id)).rejects.toMatchObject({
      code: "merge_refused",
      message: /holdfast branch/,
    });
    expect(fingerprint(home.main)).toBe(before);
  });

  it("with many conflicts records a hundred paths and counts the others", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, "for n in $(seq 103); do echo work > f$n; done");
    const names = Array.from({ length: 103 }, (_, at) => `f${at + 1}`);
    commitFiles(home.main, Object.fromEntries(names.map((name) => [name, "main\n"])), "by a person");
    await expect(hf.mergeSession(id)).rejects.toMatchObject({ code: "merge_conflicts" });
    const [record] = await eventsOf(hf, id, /merge/);
    expect(record).toMatchObject({ type: "merge_conflicted", data: { more: 3 } });
    expect(record?.data).toHaveProperty("paths.length", 100);
  });

  it("into another branch, or one that was undone, leaves its work among what conflicts looks at", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, "sed -i s/1/one/ a.txt");
    const before = gitIn(home.main, "rev-parse", "main");
    gitIn(home.main, "branch", "release");
    commitFiles(home.main, { "a.txt": "eins\n2\n3\n4\n5\n" }, "by a person");
    const collides = [{ into: "main", sessions: 1, conflicts: [{ session: id, paths: ["a.txt"] }] }];
    await hf.mergeSession(id, { into: "release" });
    expect(await hf.findConflicts()).toMatchObject(collides);
    gitIn(home.main, "reset", "-q", "--hard", before);
    await hf.mergeSession(id);
    expect(await hf.findConflicts()).toMatchObject([{ into: "main", sessions: 0, conflicts: [] }]);
    gitIn(home.main, "reset", "-q", "--hard", before);
    commitFiles(home.main, { "a.txt": "eins\n2\n3\n4\n5\n" }, "by a person");
    expect(await hf.findConflicts()).toMatchObject(collides);
  });

  it("merge-1 takes only the tree that was verified: it verifies again if the branch moves, and stops if a check fails", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, "echo n > n.txt");
    const session = await hf.resumeSession(id);
    const room = await roomOf(await openHome({ home: home.dir }), session);
    const before = fingerprint(home.main);
    const failing: VerifyTree = async () => ({ verdict: "failed", failed: ["test", "lint"] });
    await expect(mergeWork(room, { verify: failing })).rejects.toMatchObject({
      code: "checks_failed",
      facts: { checks: ["test", "lint"] },
    });
    expect(fingerprint(home.main)).toBe(before);
    const seen: Parameters<VerifyTree>[1][] = [];
    const verify: VerifyTree = async (_, of) => {
      seen.push(of);
      if (seen.length < 3) commitFiles(home.main, { [`c${seen.length}.txt`]: "c\n" }, "by a person");
      return { verdict: "passed", failed: [] };
    };
    const { commit, verdict } = await mergeWork(room, { verify });
    await session.pause();
    expect(verdict).toBe("passed");
    expect(log(home)).toEqual(["the first", "by a person", "by a person", "it did echo n > n.txt"]);
    expect(seen).toHaveLength(3);
    expect(seen.at(-1)).toEqual({
      tree: gitIn(home.main, "rev-parse", `${commit}^{tree}`),
      base: gitIn(home.main, "rev-parse", `${commit}~1`),
      into: "main",
    });
  });

  it("is done once or not at all when it is killed at any of its records", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    for (const [when = "", type = ""] of [
      ["before", "merge_started"],
      ["after", "merge_started"],
      ["before", "work_merged"],
      ["after", "work_merged"],
    ]) {
      const file = `${when}-${type}`;
      const id = await worked(home, hf, `echo n > ${file}`);
      commitFiles(home.main, { [`c-${file}`]: "c\n" }, "by a person");
      const length = log(home).length;
      await using child = new TestChild("move-and-die.ts", [home.dir, id, "merge", when, type]);
      await child.ended();
      expect(child.lines).not.toContainEqual(expect.stringContaining("moved"));
      const isMoved = type === "work_merged";
      expect(log(home)).toHaveLength(isMoved ? length + 1 : length);
      expect(gitIn(home.main, "status", "--porcelain")).toBe("");
      // Git removes it when it finds that nobody talks to it any more.
      const isLocked = () => existsSync(join(home.main, ".git/refs/heads/main.lock"));
      await expect.poll(isLocked, { timeout: 60_000 }).toBe(false);
      if (isMoved) await expect(hf.mergeSession(id)).rejects.toMatchObject({ code: "nothing_to_merge" });
      else await hf.mergeSession(id);
      expect(log(home).slice(length)).toEqual([`it did echo n > ${file}`]);
      expect(await eventsOf(hf, id, /work_merged/)).toHaveLength(1);
    }
  });

  it("is completed later when it is killed while it updates the files of the user's checkout", async () => {
    using home = new TaskHome({ ...FILES, ".gitattributes": "*.txt filter=kill\n" });
    const hf = await home.open();
    const id = await worked(home, hf, "echo n > n.txt");
    commitFiles(home.main, { c: "c\n" }, "by a person");
    const done = home.join("killed");
    gitIn(
      home.main,
      "config",
      "filter.kill.smudge",
      `cat; kill -9 $(cat ${home.join("pid")}); touch ${done}`,
    );
    await using child = new TestChild("move-and-die.ts", [home.dir, id, "merge", "never", ""]);
    const line = await child.line((text) => text.startsWith("pid "));
    writeFileSync(home.join("pid"), line.slice(4));
    await child.ended();
    expect(existsSync(done)).toBe(true);
    gitIn(home.main, "config", "--unset", "filter.kill.smudge");
    await expect.poll(() => existsSync(join(home.main, ".git/index.lock"))).toBe(false);
    expect(log(home)).toHaveLength(2);
    expect(gitIn(home.main, "status", "--porcelain")).toBe("A  n.txt");
    await expect(hf.mergeSession(id)).rejects.toMatchObject({ code: "nothing_to_merge" });
    expect(log(home)).toEqual(["the first", "by a person", "it did echo n > n.txt"]);
    expect(gitIn(home.main, "status", "--porcelain")).toBe("");
    const session = await hf.resumeSession(id);
    expect(await inCapsule(hf, session, "ls n.txt")).toBe("n.txt");
    await session.pause();
  });
});
