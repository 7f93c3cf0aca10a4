/**
 * SIGKILL around the checks: the task goes on, with the same verdict on the same tree, and publishes it once.
 */
import { existsSync, mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CheckedHome } from "../../support/checked.ts";
import { TestChild } from "../../support/children.ts";
import { eventsOf } from "../../support/merging.ts";
import { commitFiles, fingerprint, gitIn } from "../../support/repo.ts";

/**
 * The process is killed just before the first record of type `fatal`. `isMerged`: then a person merges the
 * branch before the task goes on.
 */
const CUTS: readonly { fatal: string; checks: number; isMerged?: boolean }[] = [
  { fatal: "check_started", checks: 1 },
  // The check ran, but no record shows that: it runs again.
  { fatal: "check_ended", checks: 1 },
  { fatal: "verification_ended", checks: 2 },
  // The verdict is on record: no check runs again.
  { fatal: "artifact_written", checks: 1 },
  { fatal: "publishing_started", checks: 1 },
  // The branch has the commit, without a record of it.
  { fatal: "work_published", checks: 1 },
  { fatal: "work_published", checks: 1, isMerged: true },
  { fatal: "task_ended", checks: 1 },
  { fatal: "task_ended", checks: 1, isMerged: true },
];

/** Every ref of Holdfast's in the user's repo, with its commit. */
const branchesOf = ({ main }: CheckedHome) =>
  gitIn(main, "for-each-ref", "refs/heads/holdfast/", "refs/holdfast/tips/");

describe("a task that is killed around its checks", () => {
  it("stages-1 verify-2 publish-4 ends with the same verdict, the same tree and one commit, which stays itself", async () => {
    using home = new CheckedHome(["{ name: test, run: test -e runs }"], { a: "1\n" });
    const hf = await home.hf();
    const trees = new Set<string>();
    for (const { fatal, checks, isMerged = false } of CUTS) {
      const base = gitIn(home.main, "rev-parse", "main");
      const session = await hf.openSession({
        repo: home.main,
        title: `${fatal.replaceAll("_", " ")} ${isMerged}`,
      });
      const { id } = session;
      await session.release();
      const before = branchesOf(home);
      let atCut = before;
      for (const args of [[fatal], []]) {
        await using child = new TestChild("run-stages.ts", [home.dir, id, ...args]);
        await child.ended();
        expect(child.stderr, fatal).toBe("");
        if (args.length === 0) continue;
        // A kill while the verdict is written leaves the room that the checks ran in.
        mkdirSync(home.sessionDir(id, "tasks", "1", "checking"), { recursive: true });
        atCut = branchesOf(home);
        if (isMerged) gitIn(home.main, "merge", "-q", "--ff-only", home.branchOf(id));
      }
      const { task } = await hf.showSession(id);
      expect(task, fatal).toMatchObject({ outcome: "done", verified: { verdict: "passed" } });
      const types: string[] = [];
      for await (const { type } of hf.readJournal(id)) types.push(type);
      const count = (wanted: string) => types.filter((type) => type === wanted).length;
      expect(count("check_ended"), fatal).toBe(checks);
      expect(count("work_published"), fatal).toBe(1);
      trees.add(task?.verified?.tree ?? "");
      const branch = home.branchOf(id);
      expect(gitIn(home.main, "log", "--format=%T", `${base}..${branch}`), fatal).toBe(task?.verified?.tree);
      const wasPublished = ["work_published", "task_ended"].includes(fatal);
      expect(atCut !== before, fatal).toBe(wasPublished);
      if (wasPublished) expect(branchesOf(home), fatal).toBe(atCut);
      if (isMerged) gitIn(home.main, "reset", "-q", "--hard", base);
      expect(existsSync(home.sessionDir(id, "tasks", "1", "checking")), fatal).toBe(false);
      expect((await hf.auditSession(id)).findings, fatal).toEqual([]);
    }
    expect(trees.size).toBe(1);
    expect(home.strays()).toEqual([]);
  });

  it("merge-1 verify-2 a merge that is killed around its checks changes nothing, and is done when it is asked for again", async () => {
    using home = new CheckedHome(["{ name: test, run: test -e runs }"], { a: "1\n" });
    const hf = await home.hf();
    for (const type of ["check_started", "check_ended", "verification_ended"])
      for (const when of ["before", "after"]) {
        const file = `${when}-${type}`;
        const { id, end } = await home.task(`echo ${file} >> runs`);
        expect(end.outcome, file).toBe("done");
        commitFiles(home.main, { [`c-${file}`]: "c\n" }, "by a person");
        const before = fingerprint(home.main);
        await using child = new TestChild("move-and-die.ts", [home.dir, id, "merge", when, type]);
        await child.ended();
        expect(child.lines, file).not.toContainEqual(expect.stringContaining("moved"));
        expect(fingerprint(home.main), file).toBe(before);
        const { commit, verdict } = await hf.mergeSession(id);
        expect(verdict, file).toBe("passed");
        expect(gitIn(home.main, "log", "-2", "--format=%s"), file).toBe("checked\nby a person");
        const records = await eventsOf(hf, id, /check_ended|merge_|work_merged/);
        // No receipt of the merge that was killed counts.
        expect(records.slice(-3), file).toMatchObject([
          { type: "check_ended", data: { passed: true, tree: gitIn(home.main, "rev-parse", "main^{tree}") } },
          { type: "merge_started", data: { commit } },
          { type: "work_merged", data: { commit } },
        ]);
        expect(existsSync(home.sessionDir(id, "tasks", "1", "checking")), file).toBe(false);
        expect((await hf.auditSession(id)).findings, file).toEqual([]);
      }
    expect(home.strays()).toEqual([]);
  });

  it("leaves nothing that gc can't remove if it is never continued", async () => {
    using home = new CheckedHome(["{ name: test, run: test -e runs }"]);
    const hf = await home.hf();
    const session = await hf.openSession({ repo: home.main, title: "left" });
    await session.release();
    await using child = new TestChild("run-stages.ts", [home.dir, session.id, "check_ended"]);
    await child.ended();
    const room = home.sessionDir(session.id, "tasks", "1", "checking");
    expect(existsSync(room)).toBe(true);
    await hf.gc();
    expect(existsSync(room)).toBe(false);
    expect((await hf.examine()).filter(({ what }) => what === "left over")).toEqual([]);
    expect(home.strays()).toEqual([]);
  });
});
