/**
 * The mark of a capsule in the environments of processes, which any program may fill.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { baseEnvironment, CAPSULE_MARK, markedProcesses } from "../../src/process/index.ts";

it("the mark is found where we put it, and an environment of megabytes is not searched for it", async () => {
  const filling = Object.fromEntries(
    Array.from({ length: 128 }, (_, index) => [`FILLING_${index}`, "x".repeat(1024)]),
  );
  const start = (env: Record<string, string>) => spawn("sleep", ["60"], { env, stdio: "ignore" });
  const before = start(baseEnvironment({ ...filling, [CAPSULE_MARK]: "/first place" }));
  const behind = start({ ...filling, [CAPSULE_MARK]: "/behind much else" });
  const other = start({ [`NO_${CAPSULE_MARK}`]: "/of another name" });
  try {
    const found = markedProcesses();
    expect(found).toContainEqual({ pid: before.pid, mark: "/first place" });
    expect(found.map(({ pid }) => pid)).not.toContain(behind.pid);
    expect(found.map(({ pid }) => pid)).not.toContain(other.pid);
  } finally {
    for (const child of [before, behind, other]) {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
  }
});
