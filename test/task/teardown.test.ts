/**
 * A capsule is removed and restored, by teardown and restore, pause and archive, and no file is lost.
 */
import { execFileSync } from "node:child_process";
import { existsSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TestChild } from "../support/children.ts";
import { inCapsule, sandbox, TaskHome } from "../support/tasks.ts";

describe("a teardown", () => {
  it("keeps the work if the capsule's holder was killed", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await task.runTurn(["sh", "-c", "echo work > work"]);
    for (const pid of home.strays()) process.kill(pid, "SIGKILL");
    await session.pause();
    const { snapshot } = await hf.tearDownSession(session.id);
    expect(snapshot).toMatch(/^[0-9a-f]{40}$/);
    expect((await hf.diffSession(session.id)).stat.paths).toEqual(["work"]);
  });

  it("falls back to the last checkpoint if the capsule's directory was deleted, and reports that", async () => {
    using home = new TaskHome();
    const { hf, session } = await home.atRest("echo work > work");
    execFileSync("chmod", ["-R", "u+rwX", home.capsuleDir(session.id)]);
    rmSync(home.capsuleDir(session.id), { recursive: true });
    expect(await hf.tearDownSession(session.id)).toMatchObject({
      wasMissing: true,
      snapshot: expect.any(String),
    });
    await hf.restoreSession(session.id);
    expect(existsSync(home.capsuleDir(session.id))).toBe(true);
  });

  it("is refused if a file is too large: the error names the file, and the capsule stays whole", async () => {
    using home = new TaskHome({
      "a.txt": "1",
      ".gitignore": "*.log\n",
      "holdfast.yaml": "capsule: { max_snapshot_mb: 50, max_ignored_mb: 1 }\n",
    });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const { root } = await task.capsule.attach();
    writeFileSync(join(root, "huge"), "");
    truncateSync(join(root, "huge"), 20 * 1024 ** 3);
    await task.capsule.detach();
    await session.release();
    await expect(hf.tearDownSession(session.id)).rejects.toMatchObject({
      code: "snapshot_too_large",
      message: expect.stringContaining("huge"),
    });
    const resumed = await hf.resumeSession(session.id);
    expect(
      await inCapsule(
        hf,
        resumed,
        "stat -c %s huge; rm huge; head -c 2000000 /dev/zero > big.log; echo small > small.log",
      ),
    ).toBe(String(20 * 1024 ** 3));
    await (await hf.currentTask(resumed, sandbox)).rest();
    await resumed.pause();
    await expect(hf.tearDownSession(session.id)).rejects.toMatchObject({
      code: "snapshot_too_large",
      message: expect.stringContaining("big.log"),
    });
    expect(await hf.tearDownSession(session.id, { dropIgnored: true })).toMatchObject({
      omitted: ["big.log"],
    });
    await hf.restoreSession(session.id);
    const last = await hf.resumeSession(session.id);
    expect(await inCapsule(hf, last, "ls *.log")).toBe("small.log");
    await (await hf.currentTask(last, sandbox)).rest();
    await last.pause();
  });
});

describe("pause, resume, archive", () => {
  it("a session whose process is killed in a turn resumes with the files of that moment", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    await using child = new TestChild("run-task.ts", [
      home.dir,
      home.main,
      "echo half > half; echo ready; sleep 60",
    ]);
    const id = (await child.line((line) => line.startsWith("sess_"))).trim();
    await child.line((line) => line === "ready");
    child.kill("SIGKILL");
    await child.ended();
    const resumed = await hf.resumeSession(id);
    expect(await inCapsule(hf, resumed, "cat half")).toBe("half");
    await (await hf.currentTask(resumed, sandbox)).rest();
    await resumed.pause();
  });

  it("an archived session has no capsule, and gets its files back when it is resumed", async () => {
    using home = new TaskHome();
    const { hf, session } = await home.atRest("echo archived > a");
    await hf.archiveSession(session.id);
    expect(existsSync(home.capsuleDir(session.id))).toBe(false);
    const resumed = await hf.resumeSession(session.id);
    expect(await inCapsule(hf, resumed, "cat a")).toBe("archived");
    await (await hf.currentTask(resumed, sandbox)).rest();
    await resumed.pause();
  });
});
