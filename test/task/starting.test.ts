import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { TestChild } from "../support/children.ts";
import { gitIn } from "../support/repo.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

describe("the start of a task", () => {
  it("replaces a capsule that a crash left without a record", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    await using child = new TestChild("die-before-record.ts", [home.dir, home.main]);
    const id = (await child.line((line) => line.startsWith("sess_"))).trim();
    await child.ended();
    expect((await hf.showSession(id)).task).toBeNull();
    expect(existsSync(home.capsuleDir(id))).toBe(true);
    const resumed = await hf.resumeSession(id);
    const task = await hf.startTask(resumed, sandbox);
    expect(task.number).toBe(1);
    await task.end("done");
    await resumed.pause();
  });

  it("leaves the session's files as they were if it fails", async () => {
    using home = new TaskHome({
      "package.json": "{}",
      "holdfast.yaml": "capsule: { setup: '! grep -q broken package.json' }\n",
    });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "echo work > work; echo broken > package.json");
    const { branch } = await task.end("done");
    const begun = hf.startTask(session, { ...sandbox, base: branch ?? "" });
    await expect(begun).rejects.toMatchObject({ code: "setup_failed" });
    await session.pause();
    expect((await hf.diffSession(session.id)).stat.paths).toEqual(["package.json", "work"]);
    await hf.restoreSession(session.id);
    expect(await hf.discardUnused(await hf.resumeSession(session.id))).toBe(false);
  });

  it("gitdir-1 gives the next task a failed task's files, and no other session can read that task's commits", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "echo topsecret-unpublished > x; git add x; git commit -qm x");
    await task.end("failed");
    const next = await hf.startTask(session, sandbox);
    expect(await turn(next, "cat x; echo more > y")).toBe("topsecret-unpublished");
    await next.end("failed");
    await session.pause();
    const other = await home.start(hf);
    const all = "git cat-file --batch-all-objects --batch-check='%(objectname)' | git cat-file --batch";
    expect(await turn(other.task, all)).not.toContain("topsecret");
    await other.task.end("done");
    await other.session.pause();
  });

  it("a restore or teardown that an archived session refuses leaves no capsule behind", async () => {
    using home = new TaskHome();
    const { hf, session } = await home.atRest("echo a > a");
    await hf.archiveSession(session.id);
    await expect(hf.restoreSession(session.id)).rejects.toMatchObject({ code: "illegal_transition" });
    await expect(hf.tearDownSession(session.id)).rejects.toMatchObject({ code: "illegal_transition" });
    expect(existsSync(home.capsuleDir(session.id))).toBe(false);
  });

  it("a task does not overwrite its branch if another program moved it", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "echo 1 > f");
    const { branch } = await task.end("done");
    await turn(task, "echo 2 > f");
    await task.end("done");
    expect(gitIn(home.main, "show", `${branch}:f`)).toBe("2");
    const theirs = gitIn(home.main, "commit-tree", "-p", "main", "-m", "by a person", "main^{tree}");
    gitIn(home.main, "update-ref", `refs/heads/${branch}`, theirs);
    await turn(task, "echo 3 > f");
    expect(await task.end("done")).toMatchObject({ branch: null, unpublished: { code: "publish_refused" } });
    expect(gitIn(home.main, "rev-parse", `${branch}`)).toBe(theirs);
    expect(home.strays()).toEqual([]);
    await session.pause();
  });
});
