/**
 * A session has one branch, and a task one commit on it. Holdfast never guesses who made a commit.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CarryHome, cutOff } from "../support/carry.ts";
import { HostHome, reaches, script, until } from "../support/hosts.ts";
import { commitFiles, gitIn } from "../support/repo.ts";
import { sandbox } from "../support/tasks.ts";

describe("the branch of a session", () => {
  it("gets one commit for each task, whose subject is that of the agent's only commit or what was asked", async () => {
    using home = new CarryHome("overlay");
    const first = home.git("rev-parse", "main");
    const git = "git config user.email a@b; git config user.name A";
    await home.task(`${git}; echo 1 > one; git add one; git commit -qm 'Add one, as asked'`, {
      asked: "asked 1",
    });
    await home.task("echo 2 > two; git add two; git commit -qm c1; echo 3 > two; git commit -qam c2", {
      asked: `asked 2 ${"x".repeat(80)}`,
    });
    // Commits that the user has are not listed as the agent's, even if the agent merged them.
    home.git("switch", "-qc", "theirs");
    commitFiles(home.main, { "their.txt": "t\n" }, "by the user");
    home.git("switch", "-q", "main");
    await home.task("git merge -q --no-edit theirs; echo 3 > three; git add three; git commit -qm c3", {
      asked: "asked 3",
    });
    expect(home.git("log", "--reverse", "--format=%s", `${first}..${home.branch}`).split("\n")).toEqual([
      "Add one, as asked",
      `asked 2 ${"x".repeat(63)}…`,
      "asked 3",
    ]);
    expect(home.git("log", "-1", "--format=%b", home.branch)).not.toContain("by the user");
    expect(home.git("log", "-1", "--format=%b", home.branch)).toContain("- c3");
    const body = home.git("log", "-1", "--format=%b", `${home.branch}~1`);
    expect(body).toContain("- c1\n- c2");
    expect(body).toContain(`Session: ${home.id}\nTask: 2\nLane: repo-fix`);
    expect(home.git("for-each-ref", "--format=%(refname)", "refs/heads/holdfast/")).toBe(
      `refs/heads/${home.branch}`,
    );
    // The agent's own commits are not in the user's repo.
    expect(home.git("log", "--all", "--format=%s")).not.toMatch(/^c1$/m);
  });

  it("publish-2 gets an agent's message without escapes, without secrets and without trailers of Holdfast's", async () => {
    using home = new CarryHome("overlay");
    const token = ["ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("");
    await home.task(`git config user.email a@b; git config user.name A; echo 1 > one; git add one
      printf 'red \\033[31m ${token} here\\n\\nSession: sess_someone' > m; git commit -qF m; rm m`);
    const message = home.git("log", "-1", "--format=%B", home.branch);
    expect(message).not.toContain(token);
    expect(message).not.toContain("\u001b");
    expect(message.split("\n")[0]).toMatch(/^red /);
    expect(message).not.toContain("sess_someone");
  });

  it("publish-2 is not moved while any working tree has it checked out, and the reason names that working tree", async () => {
    using home = new CarryHome("overlay");
    await home.task("echo 1 > one");
    const tip = home.git("rev-parse", home.branch);
    home.git("worktree", "add", "-q", "../person", home.branch);
    const second = await home.task("echo 2 > two");
    expect(second.branch).toBeNull();
    expect(second.unpublished?.reason).toMatch(/checked out in .*person/);
    expect(home.git("rev-parse", home.branch)).toBe(tip);
    gitIn(home.join("person"), "switch", "-q", "--detach");
    expect((await home.task("cat two; echo 3 > three")).said).toBe("2");
    expect(home.git("diff", "--name-only", tip, home.branch)).toBe("three\ntwo");
  });

  it("publish-2 keeps a commit that a person adds while a task runs, and the next task begins with it", async () => {
    using home = new CarryHome("overlay");
    await home.task("echo 1 > one");
    const hf = await home.hf();
    {
      await using session = await hf.resumeSession(home.id, { files: false });
      const task = await hf.startTask(session, sandbox);
      await task.runTurn(["sh", "-c", "echo 2 > two"]);
      home.git("switch", "-q", home.branch);
      // Its trailer claims that Holdfast made it.
      commitFiles(home.main, { "p.txt": "p\n" }, `by a person\n\nSession: ${home.id}`);
      home.git("switch", "-q", "main");
      const end = await task.end("done");
      expect(end.unpublished).toMatchObject({ code: "publish_refused" });
      expect(home.git("log", "-1", "--format=%s", home.branch)).toBe("by a person");
    }
    expect((await home.task("cat p.txt two; echo 3 > three")).said).toBe("p\n2");
    expect(home.git("log", "--format=%s", "-2", home.branch)).toBe("the title\nby a person");
  });

  it("publish-2 Holdfast recognizes a tip that it set just before a crash", async () => {
    using home = new CarryHome("overlay");
    await home.task("echo 1 > one");
    const tip = home.git("rev-parse", home.branch);
    const intended = home.git("commit-tree", "-p", tip, "-m", "not on record", `${tip}^{tree}`);
    const hf = await home.hf();
    {
      await using session = await hf.resumeSession(home.id, { files: false });
      await session.append("publishing_started", { task: 1, branch: home.branch, commit: intended });
    }
    home.git("update-ref", `refs/heads/${home.branch}`, intended);
    const next = await home.task("cat one; echo 2 > two");
    expect(next).toMatchObject({ said: "1", branch: home.branch, unpublished: null });
    expect(home.git("rev-parse", `${home.branch}^`)).toBe(intended);
  });

  it("a fork has a branch of its own, which begins at the tip that its parent published", async () => {
    using home = new CarryHome("overlay");
    await home.task("echo 1 > one");
    const hf = await home.hf();
    const parent = home.branch;
    const fork = await hf.forkSession(home.id);
    await fork.pause();
    home.id = fork.id;
    await home.task("cat one; echo f > fork");
    expect(home.branch).not.toBe(parent);
    expect(home.git("rev-parse", `${home.branch}^`)).toBe(home.git("rev-parse", parent));
  });

  it("gets the work of a failed task on request, and the work of a hand-off as soon as it is taken back", async () => {
    using home = new CarryHome("overlay");
    const hf = await home.hf();
    await home.task("echo 1 > one", { outcome: "failed", asked: "try it" });
    expect(home.git("branch", "--list", "holdfast/*")).toBe("");
    expect(await hf.branchSession(home.id)).toMatchObject({ branch: home.branch, isNew: true });
    expect(home.git("log", "-1", "--format=%s", home.branch)).toBe("try it");
    expect(await hf.branchSession(home.id)).toMatchObject({ isNew: false });
    const directory = home.join("person-dir");
    await hf.handOffSession(home.id, { to: "ani", directory });
    writeFileSync(join(directory, "by-hand"), "p\n");
    const returned = await hf.takeBackSession(home.id);
    expect(returned).toMatchObject({ isChanged: true, branch: home.branch, unpublished: null });
    // The next command of the sequence in the README.
    home.git("merge", "-q", "--ff-only", home.branch);
    expect(home.git("log", "--format=%s", "-2")).toBe("Changes by ani\ntry it");
    expect(home.git("show", "HEAD:by-hand")).toBe("p");
  });

  it("gets unfinished work only after a review; the agent's own commits get a branch beside it on request", async () => {
    using home = new CarryHome("overlay");
    const hf = await home.hf();
    await home.task(`git config user.email a@b; git config user.name A
      echo 1 > one; git add one; git commit -qm c1; echo 2 > one; git commit -qam c2
      git branch side HEAD~1; git merge -q --no-ff --no-commit side -s ours || true
      git switch -q side; echo s > s; git add s; git commit -qm 'on the side'; git switch -q -
      git merge --no-commit --no-ff side || true`);
    await expect(hf.branchSession(home.id)).rejects.toMatchObject({ code: "needs_review", exitStatus: 3 });
    expect(home.git("branch", "--list", "holdfast/*")).toBe("");
    expect(await hf.branchSession(home.id, { isReviewed: true })).toMatchObject({ branch: home.branch });
    await expect(hf.branchSession(home.id, { commits: "main" })).rejects.toMatchObject({
      code: "publish_refused",
    });
    await hf.branchSession(home.id, { commits: true });
    expect(home.git("log", "--format=%s", `main..${home.branch}-commits`)).toBe("c2\nc1");
    await expect(hf.branchSession(home.id, { commits: "none" })).rejects.toMatchObject({
      code: "base_missing",
    });
    await expect(hf.branchSession(home.id, { commits: "side" })).rejects.toMatchObject({
      code: "publish_refused",
    });
    home.git("branch", "-D", `${home.branch}-commits`);
    await hf.branchSession(home.id, { commits: "side" });
    expect(home.git("log", "--format=%s", `main..${home.branch}-commits`)).toBe("on the side\nc1");
    home.git("fsck", "--strict");
    // This works after a teardown, too.
    await hf.tearDownSession(home.id);
    await hf.branchSession(home.id, { commits: "side" });
    // The branch of commits is not moved while a person has it checked out.
    home.git("worktree", "add", "-q", "../person", `${home.branch}-commits`);
    await home.task("git reset -q --hard; git switch -q side; echo 4 > f4; git add f4; git commit -qm c4");
    await expect(hf.branchSession(home.id, { commits: "side" })).rejects.toMatchObject({
      code: "publish_refused",
    });
    expect(gitIn(home.join("person"), "status", "--short")).toBe("");
  });

  it("publish-2 is not moved while a person rebases it, even in a working tree with a relative path to its gitdir", async () => {
    using home = new CarryHome("overlay");
    await home.task("echo 1 > one");
    home.git("worktree", "add", "-q", "../person", home.branch);
    const person = home.join("person");
    writeFileSync(join(person, ".git"), "gitdir: ../main/.git/worktrees/person\n");
    gitIn(person, "-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-q", "-i", "HEAD~1");
    const tip = home.git("rev-parse", home.branch);
    const { unpublished } = await home.task("echo 2 > two");
    expect(unpublished).toMatchObject({ code: "publish_refused" });
    expect(home.git("rev-parse", home.branch)).toBe(tip);
  });

  it("publish-2 Holdfast recognizes a publication that was cut off before its record, even if the next is cut off too", async () => {
    using home = new CarryHome("overlay");
    await home.task("echo 1 > one");
    await cutOff("before", "work_published", () => home.task("echo 2 > two"));
    const second = home.git("rev-parse", home.branch);
    await cutOff("after", "publishing_started", () => home.task("echo 3 > two"));
    expect((await home.task("cat two; echo 4 > four")).said).toBe("3");
    expect(home.git("rev-parse", `${home.branch}^`)).toBe(second);
  });

  it("is made again on the commit that the task began with if a person deleted it", async () => {
    using home = new CarryHome("overlay");
    const hf = await home.hf();
    await home.task("echo 1 > one");
    home.git("branch", "-D", home.branch);
    home.git("reflog", "expire", "--expire=now", "--all");
    home.git("gc", "-q", "--prune=now");
    const directory = home.join("by-hand");
    await hf.handOffSession(home.id, { to: "ani", directory });
    writeFileSync(join(directory, "two"), "2\n");
    expect(await hf.takeBackSession(home.id)).toMatchObject({ branch: home.branch });
    expect(home.git("diff", "--name-only", "main", home.branch)).toBe("one\ntwo");
  });

  it("a retry begins where its task began, with a person's commits, and replaces the commit that the task published", async () => {
    using home = new HostHome({ "a.txt": "a\n" });
    const dispatcher = await home.dispatcher();
    const first = script("echo 1 > one; echo i > i.log");
    const { id } = await dispatcher.begin({ repo: home.main, title: "what it is about" }, first);
    const rests = async (task: number) => {
      await until(async () => (await dispatcher.show(id)).task?.number === task);
      await reaches(dispatcher, id, "paused");
    };
    await rests(1);
    expect(gitIn(home.main, "log", "-1", "--format=%s", home.branchOf(id))).toBe("what it is about");
    gitIn(home.main, "switch", "-q", home.branchOf(id));
    commitFiles(home.main, { "p.txt": "p\n" }, "by a person");
    gitIn(home.main, "switch", "-q", "main");
    await dispatcher.submit(id, script("cat one p.txt i.log > seen; ls > names"));
    await rests(2);
    const second = gitIn(home.main, "rev-parse", home.branchOf(id));
    await dispatcher.submit(id, (await dispatcher.lastTaskAgain(id)).spec);
    await rests(3);
    const third = gitIn(home.main, "rev-parse", home.branchOf(id));
    expect(third).not.toBe(second);
    expect(gitIn(home.main, "rev-parse", `${third}^`)).toBe(gitIn(home.main, "rev-parse", `${second}^`));
    for (const commit of [second, third]) {
      expect(gitIn(home.main, "show", `${commit}:seen`)).toBe("1\np\ni");
      expect(gitIn(home.main, "show", `${commit}:names`).split("\n")).not.toContain("two");
    }
  });
});
