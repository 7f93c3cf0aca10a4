/**
 * A session goes on whole: the next task begins with everything that the last one left, and a person's commits go
 * into it. On every strategy, with real git and real kills.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentGit, Capsule, findHanded, handOn } from "../../src/capsule/index.ts";
import { CapsuleLab, inside } from "../support/capsules.ts";
import { CarryHome, cutOff } from "../support/carry.ts";
import { HostHome, reaches, script, until } from "../support/hosts.ts";
import { commitFiles, gitIn } from "../support/repo.ts";
import { sandbox } from "../support/tasks.ts";

describe.each(["overlay", "worktree"] as const)("what the next task begins with (%s)", (strategy) => {
  it("everything that the last one left: work, ignored files beyond the limit, empty directories, its own git", async () => {
    using home = new CarryHome(strategy);
    await home.task(
      `git config user.email a@b; git config user.name A
       echo 1 > one; git add one; git commit -qm 'one of mine'
       git switch -qc side; echo s > side; git add side; git commit -qm side; git switch -q -
       echo stashed > a.txt; git stash -q; echo staged > staged; git add staged; echo 2 > two
       mkdir -p node_modules/x empty/er; head -c 2000000 /dev/urandom > node_modules/x/big; sha1sum node_modules/x/big`,
      { outcome: "failed" },
    );
    const next = await home.task(
      `cat one two; ls -d empty/er; ls -s node_modules/x/big >/dev/null; git log --format=%s -1
       git log --format=%s -1 side; git stash list | wc -l; git diff --cached --name-only; git status --short`,
    );
    expect(next.said).toBe("1\n2\nempty/er\none of mine\nside\n1\nstaged\nA  staged\n?? two");
    expect(home.git("ls-tree", "-r", "--name-only", home.branch).split("\n")).toEqual(
      expect.arrayContaining(["one", "staged", "two"]),
    );
    const [, started] = await home.records("task_started");
    expect(started?.["carried"]).toMatchObject({ task: 1, outcome: "failed", hasUnpublished: true });
    // Only one capsule is there, and it is the last task's.
    expect(existsSync(home.capsuleDir(home.id, 1))).toBe(false);
    expect(existsSync(home.capsuleDir(home.id, 2))).toBe(true);
  });

  it("an unfinished rebase is left as it is, needs a review, and is on no branch", async () => {
    using home = new CarryHome(strategy);
    const end = await home.task(
      `git config user.email a@b; git config user.name A
       git switch -qc theirs; echo theirs > a.txt; git commit -qam theirs; git switch -q -
       echo mine > a.txt; git commit -qam mine; git rebase theirs || true; echo more > more`,
    );
    expect(end.outcome).toBe("needs_review");
    expect(end.unpublished).toMatchObject({ code: "unfinished" });
    expect(home.git("branch", "--list", "holdfast/*")).toBe("");
    const next = await home.task("git rebase --abort; cat a.txt more; git log --format=%s -1");
    expect(next.said).toBe("mine\nmore\nmine");
    expect(next.outcome).toBe("done");
    expect(home.git("show", `${home.branch}:a.txt`)).toBe("mine");
  });

  it("what was written after the last checkpoint is carried on, and in a checkpoint first", async () => {
    using home = new CarryHome(strategy);
    const hf = await home.hf();
    {
      await using session = await hf.openSession({ repo: home.main });
      home.id = session.id;
      const task = await hf.startTask(session, sandbox);
      // A harness that was cut off in the middle.
      writeFileSync(join((await task.capsule.attach()).root, "late"), "late\n");
      await task.capsule.detach();
    }
    expect((await home.task("cat late")).said).toBe("late");
    const [, started] = await home.records("task_started");
    expect(started?.["carried"]).toMatchObject({ task: 1, hasUnpublished: true });
  });

  it("--fresh and --base begin clean; the files of before are in their snapshot", async () => {
    using home = new CarryHome(strategy);
    await home.task("echo 1 > one; echo i > i.log");
    expect((await home.task("ls", { isFresh: true })).said).toBe("a.txt\nholdfast.yaml");
    await home.task("echo 3 > three");
    expect((await home.task("ls", { base: "HEAD" })).said).toBe("a.txt\nholdfast.yaml");
  });

  it("K19 what fails when the next task is on record takes no files with it", async () => {
    using home = new CarryHome(strategy);
    await home.task("echo 1 > one; echo i > i.log");
    await cutOff("before", "capsule_created", () => home.task("true"));
    await cutOff("before", "task_started", () => home.task("true"));
    expect((await home.task("cat one i.log")).said).toBe("1\ni");
  });

  it("K20 a person's commits on the branch go into the carried files, and the next commit stands on them", async () => {
    using home = new CarryHome(strategy, { "dir/old": "old\n", "b.txt": "b\n" });
    await home.task("echo 1 > one; echo i > i.log; echo dirty > b.txt", { outcome: "done" });
    await home.task("echo 2 > two", { outcome: "failed" });
    // By a person, in a working tree of their own.
    home.git("worktree", "add", "-q", "../person", home.branch);
    const person = home.join("person");
    commitFiles(person, { "a.txt": "person\n", "new/file": "n\n" }, "by a person");
    gitIn(person, "rm", "-q", "dir/old");
    gitIn(person, "commit", "-qm", "removed");
    const tip = gitIn(person, "rev-parse", "HEAD");
    home.git("worktree", "remove", "--force", person);
    const next = await home.task("cat a.txt new/file one two b.txt i.log; ls; git status --short");
    expect(next.said).toBe(
      "person\nn\n1\n2\ndirty\ni\na.txt\nb.txt\nholdfast.yaml\ni.log\nnew\none\ntwo\n?? two",
    );
    expect(home.git("log", "--format=%s", "-4", home.branch)).toBe(
      "the title\nremoved\nby a person\nthe title",
    );
    expect(home.git("rev-parse", `${home.branch}^`)).toBe(tip);
    expect(home.git("log", "-1", "--format=%B", home.branch)).toContain(
      "With work of the session that was not published before.",
    );
    expect(home.git("diff", "--name-only", tip, home.branch)).toBe("two");
  });

  it("after a merge it goes on with what the user has by now; the agent's own branch goes along", async () => {
    using home = new CarryHome(strategy);
    await home.task("echo 1 > one; echo i > i.log");
    commitFiles(home.main, { "main.txt": "m\n" }, "meanwhile");
    home.git("merge", "-q", "--no-edit", home.branch);
    home.git("branch", "-D", home.branch);
    const merged = home.git("rev-parse", "HEAD");
    const next = await home.task(
      "cat one main.txt i.log; git status --short; git rev-parse HEAD; echo 2 > two",
    );
    expect(next.said).toBe(`1\nm\ni\n${merged}`);
    expect(home.git("log", "--format=%P", "-1", home.branch)).toBe(merged);
    expect(home.git("diff", "--name-only", "HEAD", home.branch)).toBe("two");
  });

  it("K20 what no tree has is neither replaced nor removed: a file where a person has a directory, files where one was", async () => {
    using home = new CarryHome(strategy, { f: "f\n" });
    await home.task("echo 1 > one; echo mine > node_modules");
    await home.task("rm f; mkdir f; echo kept > f/i.log", { outcome: "failed" });
    home.git("worktree", "add", "-q", "../person", home.branch);
    const person = home.join("person");
    gitIn(person, "rm", "-q", "f");
    commitFiles(person, { p: "p\n" }, "removed");
    const removed = gitIn(person, "rev-parse", "HEAD");
    mkdirSync(join(person, "node_modules"));
    writeFileSync(join(person, "node_modules", "x"), "x\n");
    gitIn(person, "add", "-f", "node_modules/x");
    gitIn(person, "commit", "-qm", "added");
    home.git("worktree", "remove", "--force", person);
    await expect(home.task("true")).rejects.toMatchObject({
      code: "work_conflicts",
      facts: { paths: ["node_modules"] },
    });
    home.git("branch", "-f", home.branch, removed);
    expect((await home.task("cat p node_modules f/i.log")).said).toBe("p\nmine\nkept");
  });

  it("K20 what both changed is refused with the paths, and everything stays as it was", async () => {
    using home = new CarryHome(strategy);
    await home.task("echo 1 > one");
    await home.task("echo mine > a.txt; echo w > new; echo l > l.log", { outcome: "failed" });
    home.git("switch", "-q", home.branch);
    commitFiles(home.main, { "a.txt": "theirs\n", new: "other\n" }, "by a person");
    gitIn(home.main, "switch", "-q", "main");
    const tip = home.git("rev-parse", home.branch);
    const refused = home.task("true");
    await expect(refused).rejects.toMatchObject({
      code: "work_conflicts",
      facts: { paths: ["a.txt", "new"] },
    });
    expect(existsSync(home.capsuleDir(home.id, 2))).toBe(true);
    expect(existsSync(home.capsuleDir(home.id, 3))).toBe(false);
    expect(home.git("rev-parse", home.branch)).toBe(tip);
    // An ignored file that the person has tracked meanwhile.
    home.git("reset", "-q", "--hard", "main");
    home.git("update-ref", `refs/heads/${home.branch}`, `${tip}~1`);
    home.git("switch", "-q", home.branch);
    writeFileSync(join(home.main, "l.log"), "tracked\n");
    home.git("add", "-f", "l.log");
    home.git("commit", "-qm", "tracks a log");
    home.git("switch", "-q", "main");
    await expect(home.task("true")).rejects.toMatchObject({ facts: { paths: ["l.log"] } });
    expect(existsSync(home.capsuleDir(home.id, 2))).toBe(true);
    expect((await home.task("cat a.txt", { isFresh: true })).said).toBe("a");
  });

  it("the user's refs inside are brought up to date, the agent's stay", async () => {
    using home = new CarryHome(strategy);
    home.git("branch", "moves");
    home.git("branch", "goes");
    home.git("branch", "taken");
    await home.task(`git config user.email a@b; git config user.name A; git branch own; git branch -D goes
      git switch -q taken; git commit -q --allow-empty -m 'on taken'; git switch -q -; git pack-refs --all`);
    commitFiles(home.main, { "m.txt": "m\n" }, "moved on");
    home.git("branch", "-f", "moves", "HEAD");
    home.git("branch", "fresh");
    home.git("branch", "own/below");
    const next = await home.task(
      "git for-each-ref --format='%(refname:short) %(subject)' refs/heads; git fsck --no-dangling 2>&1 | head -3",
    );
    expect(next.said.split("\n").filter((line) => !line.startsWith("holdfast/"))).toEqual([
      "fresh moved on",
      "main moved on",
      "moves moved on",
      "own the first",
      "taken on taken",
    ]);
  });

  it("K19 a hand-over that is cut off at any step leaves the capsule with the task that the journal names", async () => {
    await using lab = new CapsuleLab(strategy);
    const repo = await lab.repo();
    const first = await lab.create();
    await inside(first, "echo 1 > one; mkdir i; echo kept > i/kept");
    const { session } = first.spec;
    const dirOf = (task: number) => join(lab.home, "sessions", session, "tasks", String(task), "capsule");
    let cuts = 0;
    for (let step = 1; ; step += 1) {
      let left = step;
      const cut = () => {
        left -= 1;
        if (left < 0) throw new Error("cut");
      };
      // Nothing that comes after the step reaches the disk.
      const disk = new Proxy(lab.io.disk, {
        get: (target, name) =>
          ["create", "rename", "syncDir"].includes(String(name))
            ? (...args: unknown[]) => {
                cut();
                return Reflect.apply(Reflect.get(target, name) as () => unknown, target, args);
              }
            : Reflect.get(target, name),
      });
      const io = { ...lab.io, disk };
      const capsule = await Capsule.open(io, repo, dirOf(1));
      if (!capsule) throw new Error("it is not there");
      const next = { dir: dirOf(2), task: 2, base: null, sandbox: capsule.sandbox };
      const isCut = await handOn(io, capsule, next).then(
        () => false,
        (error: Error) => error.message === "cut",
      );
      cuts += isCut ? 1 : 0;
      const found = await findHanded(lab.io, repo, 1, dirOf);
      expect(found?.spec, `step ${step}`).toMatchObject({ task: 1, base: first.spec.base, previous: null });
      const { root } = (await found?.attach()) ?? { root: "" };
      expect(readdirSync(root), `step ${step}`).toEqual(expect.arrayContaining(["one", "i", "a.txt"]));
      await found?.detach();
      if (!isCut) break;
    }
    expect(cuts).toBeGreaterThan(4);
    const again = await Capsule.open(lab.io, repo, dirOf(1));
    if (!again) throw new Error("it is not there");
    const next = { dir: dirOf(2), task: 2, base: null, sandbox: again.sandbox };
    const handed = await handOn(lab.io, again, next);
    // On record, and cut off before that was written down.
    expect((await findHanded(lab.io, repo, 2, dirOf))?.spec).toMatchObject({ task: 2, previous: null });
    await handed.detach();
  });
});

describe("one branch for a session, one commit for a task", () => {
  it("each commit stands on the last; its subject is the agent's own, or what was asked", async () => {
    using home = new CarryHome("overlay");
    const first = home.git("rev-parse", "main");
    const git = "git config user.email a@b; git config user.name A";
    await home.task(`${git}; echo 1 > one; git add one; git commit -qm 'Add one, as asked'`, {
      asked: "asked 1",
    });
    await home.task("echo 2 > two; git add two; git commit -qm c1; echo 3 > two; git commit -qam c2", {
      asked: `asked 2 ${"x".repeat(80)}`,
    });
    // What the user has is not the agent's doing, also where the agent merged it.
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

  it("K21 what an agent writes in a message is text: no escapes, no secrets, no claim to be ours", async () => {
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

  it("K21 a branch that is checked out, in any working tree, is not moved: that is said, and what to do", async () => {
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

  it("K21 a commit that a person puts on the branch while a task runs stays: the next task begins there", async () => {
    using home = new CarryHome("overlay");
    await home.task("echo 1 > one");
    const hf = await home.hf();
    {
      await using session = await hf.resumeSession(home.id, { files: false });
      const task = await hf.startTask(session, sandbox);
      await task.runTurn(["sh", "-c", "echo 2 > two"]);
      home.git("switch", "-q", home.branch);
      // With a trailer that claims to be ours.
      commitFiles(home.main, { "p.txt": "p\n" }, `by a person\n\nSession: ${home.id}`);
      home.git("switch", "-q", "main");
      const end = await task.end("done");
      expect(end.unpublished).toMatchObject({ code: "publish_refused" });
      expect(home.git("log", "-1", "--format=%s", home.branch)).toBe("by a person");
    }
    expect((await home.task("cat p.txt two; echo 3 > three")).said).toBe("p\n2");
    expect(home.git("log", "--format=%s", "-2", home.branch)).toBe("the title\nby a person");
  });

  it("K21 a tip that we set just before a crash is known for ours", async () => {
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

  it("a fork has a branch of its own, which stands on what its parent had published", async () => {
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

  it("work of a task that failed, and what a person brought back, are published on request or by themselves", async () => {
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
    // What README's own sequence does next.
    home.git("merge", "-q", "--ff-only", home.branch);
    expect(home.git("log", "--format=%s", "-2")).toBe("Changes by ani\ntry it");
    expect(home.git("show", "HEAD:by-hand")).toBe("p");
  });

  it("what was left unfinished is published after a person looked; the agent's own commits are a branch beside it", async () => {
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
    // Also when its files were put away.
    await hf.tearDownSession(home.id);
    await hf.branchSession(home.id, { commits: "side" });
    // Not under the feet of a person who looks at them.
    home.git("worktree", "add", "-q", "../person", `${home.branch}-commits`);
    await home.task("git reset -q --hard; git switch -q side; echo 4 > f4; git add f4; git commit -qm c4");
    await expect(hf.branchSession(home.id, { commits: "side" })).rejects.toMatchObject({
      code: "publish_refused",
    });
    expect(gitIn(home.join("person"), "status", "--short")).toBe("");
  });

  it("K21 a branch that is being rebased stays, also where a working tree names its gitdir by a relative path", async () => {
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

  it("K21 a publication whose record was cut off is known for ours, also when the next one is cut off too", async () => {
    using home = new CarryHome("overlay");
    await home.task("echo 1 > one");
    await cutOff("before", "work_published", () => home.task("echo 2 > two"));
    const second = home.git("rev-parse", home.branch);
    await cutOff("after", "publishing_started", () => home.task("echo 3 > two"));
    expect((await home.task("cat two; echo 4 > four")).said).toBe("3");
    expect(home.git("rev-parse", `${home.branch}^`)).toBe(second);
  });

  it("what was published is gone with its branch: the work stands on what its task began with", async () => {
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

  it("a retry begins where its task began, a person's commits included, and replaces what that published", async () => {
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
    await dispatcher.submit(id, await dispatcher.specOfLastTask(id));
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

describe("an agent's own git", () => {
  it("K2 is read as plain files: a HEAD, a ref or a list that leads out of it, or is no file, is nothing", async () => {
    await using lab = new CapsuleLab("worktree");
    const id = gitIn(lab.main, "rev-parse", "HEAD");
    writeFileSync(lab.temp.join("outside"), `${id}\n`);
    const capsule = await lab.create();
    const { root } = await capsule.attach();
    const own = new AgentGit(root);
    expect(own.head.commit).toBe(id);
    const outside = lab.temp.join("outside").slice(1);
    const up = "../".repeat(12);
    // Characters whose last byte is a dot.
    const wide = "\u012e\u012e/".repeat(30);
    for (const plant of [
      `echo 'ref: refs/heads/${up}${outside}' > .git/HEAD`,
      `echo 'ref: refs/heads/${wide}${outside}' > .git/HEAD`,
      "printf 'ref: refs/heads/a\\0b' > .git/HEAD",
      `echo 'ref: refs/heads/${"long".repeat(100)}' > .git/HEAD`,
      `rm .git/HEAD; ln -s ${lab.temp.join("outside")} .git/HEAD`,
      "rm .git/HEAD; mkfifo .git/HEAD",
      "rm -r .git/HEAD; mkdir .git/HEAD",
      `rm -r .git/HEAD; echo 'ref: refs/heads/x' > .git/HEAD; ln -s ${lab.temp.join("outside")} .git/refs/heads/x`,
      `rm -r .git/refs; ln -s ${lab.temp.path} .git/refs; echo 'ref: refs/heads/outside' > .git/HEAD`,
    ]) {
      await inside(capsule, plant);
      expect(own.head.commit, plant).toBeUndefined();
    }
    const before = readdirSync(lab.temp.path);
    own.refreshRefs([{ name: "refs/heads/evil", id }]);
    expect(readdirSync(lab.temp.path)).toEqual(before);
    await inside(
      capsule,
      "rm .git/refs; mkdir .git/refs; rm .git/packed-refs; ln -s /etc/passwd .git/packed-refs",
    );
    own.refreshRefs([{ name: "refs/heads/good", id }]);
    expect(await inside(capsule, "cat .git/packed-refs")).toContain("refs/heads/good");
    // What has another form stays so, and keeps nothing from going on.
    await inside(capsule, "rm .git/packed-refs; mkdir -p .git/packed-refs/x");
    own.refreshRefs([{ name: "refs/heads/other", id }]);
    await inside(capsule, "rm -r .git/packed-refs; mkdir -p .git/refs/$(printf 'd/%.0s' $(seq 1500))");
    own.refreshRefs([{ name: "refs/heads/more", id }]);
    expect(await inside(capsule, "ls -a .git")).not.toContain("packed-refs");
  });

  it("names of branches are bytes, and one that is only packed is moved too", async () => {
    await using lab = new CapsuleLab("worktree");
    const id = gitIn(lab.main, "rev-parse", "HEAD");
    gitIn(lab.main, "branch", "gr\u00f6\u00dfe");
    const capsule = await lab.create();
    const { root } = await capsule.attach();
    const own = new AgentGit(root);
    await inside(
      capsule,
      "git switch -q gr\u00f6\u00dfe; git switch -qc \u4e2d/\u6587; git pack-refs --all --prune",
    );
    const { branch, commit } = own.head;
    expect(commit).toBe(id);
    const next = commitFiles(lab.main, { "b.txt": "b\n" }, "the next");
    own.moveBranch(branch ?? "", next, readFileSync(join(root, ".git/index")));
    expect(await inside(capsule, "git rev-parse HEAD; git symbolic-ref HEAD")).toBe(
      `${next}\nrefs/heads/\u4e2d/\u6587`,
    );
    own.refreshRefs([{ name: "refs/heads/gr\u00f6\u00dfe", id: next }]);
    expect(await inside(capsule, "git rev-parse gr\u00f6\u00dfe")).toBe(next);
  });
});
