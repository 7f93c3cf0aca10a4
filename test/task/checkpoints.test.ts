/**
 * Checkpoints of files that are hard to keep: large ignored files, locked directories, pipes, deleted layers.
 */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { inCapsule, sandbox, TaskHome, turn } from "../support/tasks.ts";

describe("a checkpoint", () => {
  it("has all files in its snapshot, even if layers and bases were deleted", async () => {
    using home = new TaskHome();
    const { hf, session } = await home.atRest("echo kept > kept");
    execFileSync("sh", ["-c", `rm -rf ${home.dir}/repos/*/layers ${home.dir}/repos/*/bases`]);
    const resumed = await hf.resumeSession(session.id);
    expect(await inCapsule(hf, resumed, "cat kept")).toBe("kept");
    await (await hf.currentTask(resumed, sandbox)).rest();
    await resumed.pause();
  });

  it("does not fail when the task takes the permissions of its root directory away", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    for (const mode of ["000", "555"]) {
      const { session, task } = await home.start(hf);
      await turn(task, `echo x > x; chmod ${mode} .`);
      expect((await task.end("done")).stat.paths).toEqual(["x"]);
      await session.pause();
      await hf.tearDownSession(session.id);
    }
  });

  it("leaves out ignored files beyond the limit, and keeps the other files", async () => {
    using home = new TaskHome({
      ".gitignore": "*.log\n",
      "holdfast.yaml": "capsule: { max_snapshot_mb: 4, max_ignored_mb: 1 }\n",
    });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(
      task,
      "for i in 1 2 3 4 5 6 7 8 9; do head -c 900000 /dev/urandom > $i.log; done; echo work > work",
    );
    const end = await task.end("done");
    await session.pause();
    expect(end.omitted).toHaveLength(8);
    expect(end.stat.paths).toEqual(["work"]);
    const size = Number(
      execFileSync("sh", ["-c", `du -sk ${home.dir}/repos/*/store.git | cut -f1`], { encoding: "utf8" }),
    );
    expect(size).toBeLessThan(3000);
  });

  it("is not blocked by pipes in place of .gitignore and the index of git", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(
      task,
      "mkdir d; mkfifo d/.gitignore; echo x > d/x; echo y > y; rm -f .git/index; mkfifo .git/index",
    );
    const { stat } = await task.end("done");
    await session.pause();
    expect(stat.paths).toEqual(["y"]);
  });
});
