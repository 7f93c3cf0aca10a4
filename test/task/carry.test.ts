/**
 * The next task of a session begins with everything that the last one left, and with the commits that a
 * person made. On overlay and worktree, with real git.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Capsule, findHanded, handOn } from "../../src/capsule/index.ts";
import { CapsuleLab, inside } from "../support/capsules.ts";
import { CarryHome, cutOff } from "../support/carry.ts";
import { commitFiles, gitIn } from "../support/repo.ts";
import { sandbox } from "../support/tasks.ts";

describe.each(["overlay", "worktree"] as const)("the next task of a session (%s)", (strategy) => {
  it("begins with all that the last one left: work, large ignored files, empty directories and the agent's own git", async () => {
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
    // There is only one capsule, and the latest task has it.
    expect(existsSync(home.capsuleDir(home.id, 1))).toBe(false);
    expect(existsSync(home.capsuleDir(home.id, 2))).toBe(true);
  });

  it("begins with an unfinished rebase as it was left, which needs a review and is not published", async () => {
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
    expect(next.outcome).toBe("unverified");
    expect(home.git("show", `${home.branch}:a.txt`)).toBe("mine");
  });

  it("begins with the files that were written after the last checkpoint, too", async () => {
    using home = new CarryHome(strategy);
    const hf = await home.hf();
    {
      await using session = await hf.openSession({ repo: home.main });
      home.id = session.id;
      const task = await hf.startTask(session, sandbox);
      // As if a harness was cut off in the middle of its task.
      writeFileSync(join((await task.capsule.attach()).root, "late"), "late\n");
      await task.capsule.detach();
    }
    expect((await home.task("cat late")).said).toBe("late");
    const [, started] = await home.records("task_started");
    expect(started?.["carried"]).toMatchObject({ task: 1, hasUnpublished: true });
  });

  it("begins without the earlier files if --fresh or --base asks for that", async () => {
    using home = new CarryHome(strategy);
    await home.task("echo 1 > one; echo i > i.log");
    expect((await home.task("ls", { isFresh: true })).said).toBe("a.txt\nholdfast.yaml");
    await home.task("echo 3 > three");
    expect((await home.task("ls", { base: "HEAD" })).said).toBe("a.txt\nholdfast.yaml");
  });

  it("hand-on-1 begins with all files after two earlier starts failed before their records", async () => {
    using home = new CarryHome(strategy);
    await home.task("echo 1 > one; echo i > i.log");
    await cutOff("before", "capsule_created", () => home.task("true"));
    await cutOff("before", "task_started", () => home.task("true"));
    expect((await home.task("cat one i.log")).said).toBe("1\ni");
  });

  it("catch-up-1 brings a person's commits on the branch into the carried files, and its own commit follows them", async () => {
    using home = new CarryHome(strategy, { "dir/old": "old\n", "b.txt": "b\n" });
    await home.task("echo 1 > one; echo i > i.log; echo dirty > b.txt", { outcome: "done" });
    await home.task("echo 2 > two", { outcome: "failed" });
    // A person commits in a working tree of their own.
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
      "With earlier work of the session that was not published before.",
    );
    expect(home.git("diff", "--name-only", tip, home.branch)).toBe("two");
  });

  it("begins with the user's current branch after a merge, and the agent's own branch is moved there", async () => {
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

  it("catch-up-1 neither replaces nor removes ignored files at paths that a person's commits add or remove", async () => {
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

  it("catch-up-1 is refused with the paths if a person changed the same files, and everything stays as it was", async () => {
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
    // A person now tracks a file that the agent has as an ignored one.
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

  it("has the user's current refs in its gitdir, and keeps the agent's own refs", async () => {
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

  it("hand-on-1 handing on that is cut off at any point leaves the capsule with the task that the journal names", async () => {
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
      // Nothing after that point reaches the disk.
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
    // The next task is on record, and its capsule still notes that it can go back to the last one.
    expect((await findHanded(lab.io, repo, 2, dirOf))?.spec).toMatchObject({ task: 2, previous: null });
    await handed.detach();
  });
});
