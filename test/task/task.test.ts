/**
 * Tasks from end to end: a session's files and its history are always of the same moment.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { TestChild } from "../support/children.ts";
import { fingerprint, gitIn, listTree } from "../support/repo.ts";
import { inCapsule, sandbox, TaskHome, turn } from "../support/tasks.ts";

describe("a task", () => {
  it("leaves a patch and a branch with its work, and does not change the user's checkout", async () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const hf = await home.open();
    const before = fingerprint(home.main);
    const { session, task } = await home.start(hf, "fix the login timeout");
    const end = await task.runTurn(["sh", "-c", "echo two >> a.txt; echo new > b; echo said"]);
    expect(end).toMatchObject({ exitCode: 0, isInterrupted: false });
    const result = await task.end("done");
    await session.pause();
    expect(result).toMatchObject({
      outcome: "unverified",
      branch: `${home.branchOf(session.id)}`,
      stat: { files: 2, insertions: 2 },
    });
    expect(gitIn(home.main, "log", "--format=%B", "-1", result.branch ?? "")).toBe(
      `fix the login timeout\n\nSession: ${session.id}\nTask: 1\nLane: repo-fix${hasSandbox ? "" : "\nSandbox: none"}`,
    );
    expect(gitIn(home.main, "rev-parse", `${result.branch}^{tree}`)).toBe(result.tree);
    expect(readFileSync(result.patch, "utf8")).toContain("+two");
    execFileSync("git", ["apply", "--check", result.patch], { cwd: home.main });
    expect(fingerprint(home.main)).toBe(before);
    expect((await hf.auditSession(session.id)).findings).toEqual([]);
    expect(home.strays(), "a session at rest costs no process").toEqual([]);
    const { patch, tree } = await hf.diffSession(session.id);
    expect([patch.toString(), tree]).toEqual([readFileSync(result.patch, "utf8"), result.tree]);
  });

  it("task-2 gets all its files, commits and stashes back by a restore after a teardown", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(
      task,
      "echo kept > kept; mkdir empty; git add kept; git commit -qm kept; git stash list; echo s >> kept; git stash -q",
    );
    const files = listTree((await task.capsule.attach()).root, (path) => path.startsWith(".git"));
    await task.rest();
    await session.pause();
    const receipt = await hf.tearDownSession(session.id);
    expect(receipt).toMatchObject({ wasMissing: false, omitted: [] });
    expect(existsSync(home.capsuleDir(session.id))).toBe(false);
    await expect(hf.tearDownSession(session.id)).rejects.toMatchObject({ code: "no_capsule" });
    await hf.restoreSession(session.id);
    const again = await hf.resumeSession(session.id);
    const back = await hf.currentTask(again, sandbox);
    expect(listTree((await back.capsule.attach()).root, (path) => path.startsWith(".git"))).toEqual(files);
    expect(await inCapsule(hf, again, "git log --format=%s -1; git stash list")).toMatch(/^kept\nstash@/);
    await back.rest();
    await again.pause();
  });

  it("a fork at a turn has the files of that turn, and does not change those of its parent or of other forks", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    for (let number = 1; number <= 4; number += 1)
      await turn(task, `echo ${number} > latest; echo ${number} > only-${number}; rm -f only-${number - 1}`);
    await task.rest();
    await session.pause();
    for (let at = 1; at <= 4; at += 1) {
      const fork = await hf.forkSession(session.id, { atTurn: at });
      expect(await inCapsule(hf, fork, "cat latest; ls only-*")).toBe(`${at}\nonly-${at}`);
      const forked = await hf.currentTask(fork, sandbox);
      await turn(forked, "echo fork > latest");
      await forked.rest();
      await fork.pause();
    }
    const resumed = await hf.resumeSession(session.id);
    expect(await inCapsule(hf, resumed, "cat latest")).toBe("4");
    await (await hf.currentTask(resumed, sandbox)).rest();
    await resumed.pause();
    const beginning = await hf.forkSession(session.id, { atTurn: 0 });
    await expect(hf.currentTask(beginning)).rejects.toMatchObject({ code: "no_capsule" });
    await beginning.pause();
  });

  it("the next task of a session begins with the published work, and the first task's capsule is gone", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await task.runTurn(["sh", "-c", "echo first > result; echo junk > .untracked"]);
    await task.end("done");
    const second = await hf.startTask(session, sandbox);
    expect(second.number).toBe(2);
    expect(existsSync(home.capsuleDir(session.id, 1)), "the old one was torn down").toBe(false);
    await second.runTurn(["sh", "-c", "cat result; echo second >> result"]);
    const { branch } = await second.end("done");
    await session.pause();
    expect(gitIn(home.main, "show", `${branch}:result`)).toBe("first\nsecond");
    expect(gitIn(home.main, "log", "--format=%s", `${branch}`).split("\n")).toHaveLength(3);
  });
});

describe("an export", () => {
  it("carries the files of every checkpoint to another home, and is refused with a repo that lacks the base", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "echo 1 > f; ln -s f l; mkdir e");
    await turn(task, "echo 2 > f");
    await task.rest();
    await session.pause();
    const file = home.join("out.holdfast");
    await hf.exportSession(session.id, file);

    using other = new TaskHome();
    rmSync(other.main, { recursive: true });
    execFileSync("git", ["clone", "-q", home.main, other.main]);
    const there = await other.open();
    await there.importSession(file, { repo: other.main });
    const moved = await there.resumeSession(session.id);
    expect(await inCapsule(there, moved, "cat f; readlink l; ls -d e; git status --porcelain | wc -l")).toBe(
      "2\nf\ne\n2",
    );
    await (await there.currentTask(moved, sandbox)).rest();
    const fork = await there.forkSession(session.id, { atTurn: 1 });
    expect(await inCapsule(there, fork, "cat f")).toBe("1");
    await (await there.currentTask(fork, sandbox)).rest();
    await fork.pause();
    await moved.pause();

    using stranger = new TaskHome({ "other.txt": "another repo" });
    const nowhere = await stranger.open();
    await expect(nowhere.importSession(file, { repo: stranger.main })).rejects.toMatchObject({
      code: "base_missing",
    });
    expect(await nowhere.listSessions()).toEqual([]);
    // Without a repo only the history is imported. The files are kept, and are part of the next export.
    const id = await nowhere.importSession(file);
    await nowhere.exportSession(id, stranger.join("again.holdfast"));
    expect((await nowhere.showSession(id)).turns).toBe(2);
  });
});

describe.skipIf(!hasSandbox)("the sandbox", () => {
  it("sandbox-1 leaves no process behind when the command ends or the process that started it is killed", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "(setsid sh -c 'while :; do sleep 0.01; done' &) ; (nohup sleep 600 &) ; echo started");
    await task.rest();
    await session.pause();
    expect(home.strays()).toEqual([]);
    await using child = new TestChild("run-task.ts", [
      home.dir,
      home.main,
      "(setsid sleep 601 &); echo ready; sleep 602",
    ]);
    await child.line((line) => line === "ready");
    child.kill("SIGKILL");
    await child.ended();
    const deadline = Date.now() + 10_000;
    const sleepers = () =>
      execFileSync("sh", ["-c", "pgrep -f 'sleep 60[012]' || true"], { encoding: "utf8" }).trim();
    while (sleepers() !== "" && Date.now() < deadline) await sleep(20);
    expect(sleepers()).toBe("");
  });

  it("shows the command its capsule at the checkout's path, and lets it write neither to the home nor to /usr", async () => {
    using home = new TaskHome();
    writeFileSync(home.join("beside"), "x");
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const said = await turn(
      task,
      `pwd; ls -A ${home.dir}/sessions; ls ${home.dir}; echo w > ${home.main}/written; touch ${home.dir}/x 2>&1 | grep -c 'Read-only'; touch /usr/x 2>&1 | grep -cE 'Read-only|denied'; echo $HOME`,
    );
    expect(said.split("\n")).toEqual([
      home.main,
      session.id,
      "repos",
      "sessions",
      "1",
      "1",
      home.sessionDir(session.id, "home"),
    ]);
    expect(existsSync(join(home.main, "written"))).toBe(false);
    await task.rest();
    await session.pause();
    expect((await hf.diffSession(session.id)).stat.paths).toEqual(["written"]);
  });
});
