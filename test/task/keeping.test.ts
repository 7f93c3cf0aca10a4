/**
 * Merges that keep the agent's own commits: what the branch gets.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LocalHome } from "../../src/library/local-home.ts";
import { TestChild } from "../support/children.ts";
import { eventsOf, worked } from "../support/merging.ts";
import { commitFiles, fingerprint, gitIn } from "../support/repo.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

const FILES = { "a.txt": "1\n2\n3\n4\n5\n", "b.txt": "b\n" };
const COMMITS = "echo 1 > n; git add n; git commit -qm c1; echo 2 > n; git commit -qam c2";
const KEPT = { keepsCommits: true } as const;

async function again(hf: LocalHome, id: string, script: string) {
  const session = await hf.resumeSession(id);
  const task = await hf.startTask(session, sandbox);
  const said = await turn(task, script);
  await task.end("done");
  await session.pause();
  return said;
}

const log = (home: TaskHome, format = "%s") =>
  gitIn(home.main, "log", `--format=${format}`, "--reverse").split("\n");
const treeOf = (home: TaskHome, name: string) => gitIn(home.main, "rev-parse", `${name}^{tree}`);

describe("a merge that keeps the agent's commits", () => {
  it("keep-4 puts them on the branch with their authors, followed by one commit of the uncommitted work", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(
      home,
      hf,
      `${COMMITS}; echo 3 >> n; GIT_AUTHOR_NAME=Eve GIT_AUTHOR_EMAIL=eve@example.org git commit -qam 'c3

with a body'; echo rest > rest`,
    );
    const published = treeOf(home, home.branchOf(id));
    commitFiles(home.main, { "c.txt": "c\n" }, "by a person");
    const merged = await hf.mergeSession(id, KEPT);
    expect(merged).toMatchObject({ commits: 4, isNew: true, authors: ["Eve <eve@example.org>"] });
    expect(log(home)).toEqual([
      "the first",
      "by a person",
      "c1",
      "c2",
      "c3",
      "Work that the agent did not commit",
    ]);
    expect(log(home, "%an").slice(2, 5)).toEqual([...Array(2).fill(log(home, "%an")[0]), "Eve"]);
    expect(gitIn(home.main, "log", "-1", "--format=%b", "HEAD~1")).toBe("with a body");
    expect(gitIn(home.main, "show", "HEAD~2:n")).toBe("2");
    gitIn(home.main, "rm", "-q", "--cached", "c.txt");
    expect(gitIn(home.main, "write-tree")).toBe(published);
    gitIn(home.main, "reset", "-q");
    expect(gitIn(home.main, "status", "--porcelain")).toBe("");
    expect(await eventsOf(hf, id, /merge/)).toMatchObject([
      { type: "merge_started", data: { isKept: true, authors: ["Eve <eve@example.org>"] } },
      { type: "work_merged", data: { isKept: true, commit: merged.commit } },
    ]);
    await again(hf, id, "echo 4 >> n; git commit -qam c4");
    expect(await hf.mergeSession(id, KEPT)).toMatchObject({ authors: [] });
    expect(log(home).slice(6)).toEqual(["c4"]);
    expect(readFileSync(join(home.main, "n"), "utf8")).toBe("2\n3\n4\n");
  });

  it("keeps their ids if the branch has not moved, and makes a merge that the agent made a plain commit", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const { session, task } = await home.start(hf, "the work");
    const ids = await turn(
      task,
      `${COMMITS}; git checkout -q -b side HEAD~1; echo s > s; git add s; git commit -qm side; git checkout -q -; git merge -q --no-edit -m joined side; git log --first-parent --reverse -3 --format=%H`,
    );
    await task.end("done");
    await session.pause();
    const { commits, commit } = await hf.mergeSession(session.id, KEPT);
    expect(commits).toBe(3);
    expect(log(home).slice(1)).toEqual(["c1", "c2", "joined"]);
    expect(log(home, "%H").slice(1, 3)).toEqual(ids.split("\n").slice(0, 2));
    expect(gitIn(home.main, "rev-list", "--count", "--merges", "main")).toBe("0");
    expect(gitIn(home.main, "show", `${commit}:s`)).toBe("s");
    expect(treeOf(home, "main")).toBe(treeOf(home, home.branchOf(session.id)));
  });

  it("works where other refs have the session's branch: it was pushed, or is checked out", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, COMMITS);
    const branch = home.branchOf(id);
    gitIn(home.main, "update-ref", `refs/remotes/origin/${branch}`, branch);
    gitIn(home.main, "tag", "reviewed", branch);
    gitIn(home.main, "checkout", "-q", branch);
    await hf.mergeSession(id, { ...KEPT, into: "main" });
    expect(gitIn(home.main, "log", "--format=%s", "--reverse", "main").split("\n")).toEqual([
      "the first",
      "c1",
      "c2",
    ]);
  });

  it("is refused with --squash, on a conflict in any commit, or if it would lose a person's commit", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(
      home,
      hf,
      "sed -i s/1/one/ a.txt; git commit -qam c1; sed -i s/one/1/ a.txt; echo 2 > n; git add n; git commit -qam c2",
    );
    await expect(hf.mergeSession(id, { ...KEPT, isSquashed: true })).rejects.toMatchObject({ code: "usage" });
    commitFiles(home.main, { "a.txt": "eins\n2\n3\n4\n5\n" }, "by a person");
    const before = fingerprint(home.main);
    await expect(hf.mergeSession(id, KEPT)).rejects.toMatchObject({
      code: "merge_conflicts",
      message: expect.stringContaining("without --keep-commits"),
      facts: { paths: ["a.txt"] },
    });
    expect(fingerprint(home.main)).toBe(before);
    gitIn(home.main, "checkout", "-q", home.branchOf(id));
    commitFiles(home.main, { "p.txt": "p\n" }, "a person's");
    gitIn(home.main, "checkout", "-q", "main");
    await expect(hf.mergeSession(id, KEPT)).rejects.toMatchObject({
      code: "merge_refused",
      message: expect.stringContaining("was made by a person"),
    });
    await hf.mergeSession(id);
    expect(log(home).at(-1)).toBe("a person's");
  });

  it("is done once or not at all when it is killed at any of its records", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    for (const [when = "", type = ""] of [
      ["before", "policy_applied"],
      ["after", "policy_applied"],
      ["before", "merge_started"],
      ["after", "merge_started"],
      ["before", "work_merged"],
      ["after", "work_merged"],
    ]) {
      const file = `${when}-${type}`;
      const id = await worked(
        home,
        hf,
        `echo 1 > ${file}; git add .; git commit -qm one --author 'Eve <eve@example.org>'; echo 2 > ${file}`,
      );
      commitFiles(home.main, { [`c-${file}`]: "c\n" }, "by a person");
      const { length } = log(home);
      await using child = new TestChild("move-and-die.ts", [home.dir, id, "keep", when, type]);
      await child.ended();
      expect(child.lines, file).not.toContainEqual(expect.stringContaining("moved"));
      const isMoved = type === "work_merged";
      expect(log(home), file).toHaveLength(isMoved ? length + 2 : length);
      expect(gitIn(home.main, "status", "--porcelain")).toBe("");
      if (isMoved)
        await expect(hf.mergeSession(id, KEPT)).rejects.toMatchObject({ code: "nothing_to_merge" });
      else await hf.mergeSession(id, KEPT);
      expect(log(home).slice(length), file).toEqual(["one", "Work that the agent did not commit"]);
      expect(await eventsOf(hf, id, /work_merged/)).toMatchObject([
        { data: { isKept: true, authors: ["Eve <eve@example.org>"] } },
      ]);
      expect((await hf.auditSession(id)).findings).toEqual([]);
    }
    await hf.gc();
    expect((await hf.examine()).filter(({ what }) => what === "left over")).toEqual([]);
    expect(home.strays()).toEqual([]);
  });
});
