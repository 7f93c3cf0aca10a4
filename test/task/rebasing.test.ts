/**
 * A session that is not merged is rebased onto a newer branch.
 */
import { expect, it } from "vitest";
import { commitFiles, fingerprint, gitIn } from "../support/repo.ts";
import { inCapsule, sandbox, TaskHome, turn } from "../support/tasks.ts";

it("a rebase moves commits and files onto the newer branch and keeps the old tip; a conflict changes nothing", async () => {
  using home = new TaskHome({ "a.txt": "1\n2\n3\n4\n5\n", "b.txt": "b\n" });
  const hf = await home.open();
  const { session, task } = await home.start(hf, "the work");
  await turn(task, "echo n > n.txt; echo ignored > x.log; echo '*.log' > .gitignore");
  await task.end("done");
  const second = await hf.startTask(session, sandbox);
  await turn(second, "sed -i s/1/one/ a.txt");
  await second.end("done");
  await session.pause();
  const branch = home.branchOf(session.id);
  const old = gitIn(home.main, "rev-parse", branch);
  expect(await hf.rebaseSession(session.id)).toMatchObject({ onto: "main", isNew: false, commit: old });
  commitFiles(home.main, { "a.txt": "1\n2\n3\n4\nfive\n", "c.txt": "c\n" }, "by a person");
  const before = fingerprint(home.main);
  const { commit, from } = await hf.rebaseSession(session.id);
  expect(from).toBe(old);
  expect(gitIn(home.main, "log", "--format=%s", branch).split("\n")).toHaveLength(4);
  expect(gitIn(home.main, "merge-base", "--is-ancestor", "main", branch)).toBe("");
  expect(gitIn(home.main, "for-each-ref", "--points-at", old, "--format=%(refname)")).toContain("/tips/");
  expect(fingerprint(home.main)).toBe(before);
  // The diff has only the task's own change, and nothing of the newer branch.
  expect((await hf.diffSession(session.id)).stat).toMatchObject({ paths: ["a.txt"], insertions: 1 });
  const resumed = await hf.resumeSession(session.id);
  expect(await inCapsule(hf, resumed, "cat a.txt c.txt n.txt x.log; git status --porcelain | wc -l")).toMatch(
    /^one\n2\n3\n4\nfive\nc\nn\nignored\n/,
  );
  const third = await hf.startTask(resumed, sandbox);
  expect(third.base).toBe(commit);
  await turn(third, "echo 3 > third.txt");
  expect((await third.end("done")).stat.paths).toEqual(["third.txt"]);
  await resumed.pause();
  commitFiles(home.main, { "n.txt": "by a person\n" }, "in the way");
  const tip = gitIn(home.main, "rev-parse", branch);
  await expect(hf.rebaseSession(session.id)).rejects.toMatchObject({
    code: "merge_conflicts",
    facts: { paths: ["n.txt"] },
  });
  expect(gitIn(home.main, "rev-parse", branch)).toBe(tip);
  expect((await hf.diffSession(session.id)).stat.paths).toEqual(["third.txt"]);
});

it("after a rebase that leaves out what the branch already has, the diff has the task's own change alone", async () => {
  using home = new TaskHome({ "a.txt": "a\n" });
  const hf = await home.open();
  const session = await hf.openSession({ repo: home.main, title: "three" });
  for (const name of ["one", "two", "three"]) {
    const task = await hf.startTask(session, sandbox);
    await turn(task, `echo ${name} > ${name}`);
    await task.end("done");
  }
  await session.pause();
  const branch = home.branchOf(session.id);
  gitIn(home.main, "cherry-pick", `${branch}~1`);
  commitFiles(home.main, { "c.txt": "c\n" }, "by a person");
  const { commit } = await hf.rebaseSession(session.id);
  expect(gitIn(home.main, "diff", "--name-only", "main", commit).split("\n")).toEqual(["one", "three"]);
  expect((await hf.diffSession(session.id)).stat.paths).toEqual(["three"]);
});

it("a rebase is refused and changes no file while the session's branch is checked out elsewhere", async () => {
  using home = new TaskHome({ "a.txt": "a\n", "b.txt": "b\n" });
  const hf = await home.open();
  const { session, task } = await home.start(hf, "the work");
  await turn(task, "echo n > n.txt");
  await task.end("done");
  await session.pause();
  commitFiles(home.main, { "b.txt": "up\n" }, "by a person");
  gitIn(home.main, "worktree", "add", "-q", home.join("elsewhere"), home.branchOf(session.id));
  await expect(hf.rebaseSession(session.id)).rejects.toMatchObject({
    code: "publish_refused",
    message: expect.stringContaining("is checked out in"),
  });
  expect((await hf.diffSession(session.id)).stat.paths).toEqual(["n.txt"]);
  expect(await hf.mergeSession(session.id)).toMatchObject({ commits: 1 });
  expect(gitIn(home.main, "show", "main:b.txt")).toBe("up");
});

it("a rebase after a rewind takes only the work that is left", async () => {
  using home = new TaskHome({ "a.txt": "a\n" });
  const hf = await home.open();
  const { session, task } = await home.start(hf, "the work");
  await turn(task, "echo kept > kept.txt");
  await task.end("done");
  const second = await hf.startTask(session, sandbox);
  await turn(second, "echo undone > undone.txt");
  await second.end("done");
  await session.pause();
  const branch = home.branchOf(session.id);
  await hf.rewindSession(session.id, 1);
  commitFiles(home.main, { "c.txt": "c\n" }, "by a person");
  const { commit } = await hf.rebaseSession(session.id);
  expect(gitIn(home.main, "rev-parse", branch)).toBe(commit);
  expect(gitIn(home.main, "diff", "--name-only", "main", branch)).toBe("kept.txt");
});
