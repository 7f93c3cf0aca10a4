/**
 * Verbs right after a session's last task, when its process has paused it and is about to let go of it.
 */
import { readdirSync, readlinkSync } from "node:fs";
import { expect, it } from "vitest";
import { acquireOwner } from "../../src/journal/owner.ts";
import { TestChild } from "../support/children.ts";
import { worked } from "../support/merging.ts";
import { TaskHome } from "../support/tasks.ts";

/** Whether a process waits for files to change. */
function isWatching(pid: number): boolean {
  try {
    const fds = readdirSync(`/proc/${pid}/fd`);
    return fds.some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`).includes("inotify"));
  } catch {
    return false;
  }
}

it.runIf(process.platform === "linux")(
  "merge, branch, rebase and restore wait until the process has let go of the session",
  async () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const hf = await home.open();
    const id = await worked(home, hf, "echo n > n.txt");
    for (const verb of ["branch", "rebase", "merge", "restore"]) {
      if (verb === "restore") await hf.tearDownSession(id);
      const lock = await acquireOwner(home.sessionDir(id));
      const env = { HOLDFAST_HOME: home.dir, NO_COLOR: "1" };
      await using child = new TestChild("../../dist/cli/main.js", [verb, id], { env });
      const ended = child.ended();
      await expect
        .poll(() => isWatching(child.pid) || child.process.exitCode !== null, { timeout: 60_000 })
        .toBe(true);
      lock.release();
      expect(await ended, child.stderr).toBe(0);
    }
  },
);
