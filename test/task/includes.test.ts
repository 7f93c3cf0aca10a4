/**
 * Files that `capsule.include` brings into a capsule, while tasks change and remove them.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { gitIn } from "../support/repo.ts";
import { inCapsule, sandbox, TaskHome } from "../support/tasks.ts";
import { acceptFile } from "../support/trust.ts";

describe("an included file", () => {
  it("keeps the task's changes through a teardown and a resume", async () => {
    using home = new TaskHome({
      "a.txt": "1",
      ".gitignore": ".env\n",
      "holdfast.yaml": "capsule: { include: [.env] }\n",
    });
    writeFileSync(join(home.main, ".env"), "original");
    await acceptFile(home);
    const { hf, session } = await home.atRest("printf changed > .env");
    for (const isLayered of [true, false]) {
      await hf.tearDownSession(session.id);
      if (!isLayered) execFileSync("sh", ["-c", `rm -rf ${home.dir}/repos/*/layers`]);
      const resumed = await hf.resumeSession(session.id);
      expect(await inCapsule(hf, resumed, "cat .env")).toBe("changed");
      await (await hf.currentTask(resumed, sandbox)).end("cancelled");
      await resumed.pause();
    }
  });

  it("stays removed through a teardown and a resume if the task removed it", async () => {
    using home = new TaskHome({ ".gitignore": ".env\n", "holdfast.yaml": "capsule: { include: [.env] }\n" });
    writeFileSync(join(home.main, ".env"), "original");
    await acceptFile(home);
    const { hf, session } = await home.atRest("rm .env");
    for (let round = 0; round < 3; round += 1) {
      await hf.tearDownSession(session.id);
      if (round > 0) execFileSync("sh", ["-c", `rm -rf ${home.dir}/repos/*/layers`]);
      const resumed = await hf.resumeSession(session.id);
      expect(await inCapsule(hf, resumed, "ls -A .env 2>/dev/null"), String(round)).toBe("");
      await (await hf.currentTask(resumed, sandbox)).rest();
      await resumed.pause();
    }
  });

  it("is taken from the base, and not from the user's checkout, if it is tracked", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "holdfast.yaml": "capsule: { include: [a.txt] }\n" });
    writeFileSync(join(home.main, "a.txt"), "dirty\n");
    await acceptFile(home);
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await task.runTurn(["sh", "-c", "echo two >> a.txt"]);
    const { branch } = await task.end("done");
    await session.pause();
    expect(gitIn(home.main, "show", `${branch}:a.txt`)).toBe("one\ntwo");
  });
});
