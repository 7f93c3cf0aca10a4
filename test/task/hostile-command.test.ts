/**
 * The attacker controls the command, or the shell that starts Holdfast.
 */
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { cliPath } from "../support/cli.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

describe.skipIf(!hasSandbox)("a command in the sandbox", () => {
  it("sandbox-2 can't write to kernel settings, to files of the system or to Holdfast's home", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const targets = [
      "/proc/sys/kernel/core_pattern",
      "/proc/sys/vm/drop_caches",
      "/proc/sysrq-trigger",
      "/sys/kernel/mm/ksm/run",
      "/etc/hostname",
      `${home.dir}/x`,
      `${home.dir}/repos/x`,
    ];
    // The files are only opened for writing, so that nothing changes if one can be written after all.
    const said = await turn(
      task,
      targets.map((path) => `if (: >> ${path}) 2>/dev/null; then echo writable ${path}; fi`).join("; "),
    );
    // The sandbox has /dev/null in place of the trigger.
    expect(said.replace("writable /proc/sysrq-trigger", "")).toBe("");
    await task.rest();
    await session.pause();
  });

  it("can keep at most 1 GB each in /tmp and /dev/shm, and can't write to /dev", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const said = await turn(
      task,
      "df -k --output=size /tmp /dev/shm | tail -n 2; (: > /dev/x) 2>/dev/null && echo writable; echo fine > /dev/null",
    );
    const sizes = said.split("\n").map(Number);
    expect(sizes).toHaveLength(2);
    for (const kilobytes of sizes) expect(kilobytes).toBeLessThanOrEqual(1024 * 1024);
    await task.rest();
    await session.pause();
  });

  it("does not get a descriptor that the shell which starts Holdfast left open", async () => {
    using home = new TaskHome();
    writeFileSync(home.join("lock"), "");
    const script = `exec 200>>${home.join("lock")}; exec ${process.execPath} ${cliPath} run --repo ${home.main} -- sh -c 'ls -l /proc/self/fd; echo x >&200'`;
    const child = spawn("bash", ["-c", script], {
      env: { ...process.env, HOLDFAST_HOME: home.dir },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    child.stdout.on("data", (chunk) => {
      said += chunk;
    });
    await new Promise((resolve) => child.on("close", resolve));
    expect(said).toContain("/dev/null");
    expect(said).not.toContain("lock");
    expect(readFileSync(home.join("lock"), "utf8")).toBe("");
  });
});

describe("a variable of the shell that starts Holdfast", () => {
  it.each([
    ["in the sandbox", true],
    ["without a sandbox", false],
  ])("does not reach the command or set-up %s", async (_, isSandboxed) => {
    if (isSandboxed && !hasSandbox) return console.log("left out: the environment in the sandbox");
    using home = new TaskHome({
      "holdfast.yaml": "capsule: { setup: env > set-up.txt }\n",
    });
    process.env["PLANTED_API_KEY"] = "PLANTED";
    try {
      const hf = await home.open();
      const session = await hf.openSession({ repo: home.main });
      const task = await hf.startTask(session, { sandbox: isSandboxed });
      const said = await turn(task, "env; cat set-up.txt");
      expect(said.match(/^PATH=/gm)).toHaveLength(2);
      expect(said).not.toContain("PLANTED");
      await task.rest();
      await session.pause();
    } finally {
      delete process.env["PLANTED_API_KEY"];
    }
  });
});

it("a task runs in a home that is opened through a symbolic link", async () => {
  using home = new TaskHome();
  mkdirSync(home.join("real"));
  chmodSync(home.join("real"), 0o700);
  symlinkSync(home.join("real"), home.join("link"));
  const { openLocalHome } = await import("../../src/library/index.ts");
  const hf = await openLocalHome({ home: home.join("link") });
  const session = await hf.openSession({ repo: home.main });
  const task = await hf.startTask(session, sandbox);
  await task.runTurn(["sh", "-c", "echo x > x"]);
  const { stat } = await task.end("done");
  await session.pause();
  expect(stat.paths).toEqual(["x"]);
});
