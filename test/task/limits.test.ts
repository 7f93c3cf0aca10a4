/**
 * Limits that the kernel enforces for a task and its set-up: by a cgroup if this machine allows one, or else
 * by limits of each process and by the watch.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeCgroup } from "../../src/process/cgroup.ts";
import { cgroupLeftovers, findCgroup } from "../../src/process/index.ts";
import type { Session } from "../../src/session/session.ts";
import type { Task } from "../../src/task/task.ts";
import { hasSandbox } from "../support/capsules.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

const trial = makeCgroup(`test-limits-${process.pid}`, { maxProcesses: 10 });
afterAll(() => trial?.end());
const hasCgroups = trial?.limits.processes ?? false;
if (!hasSandbox) console.log("left out: limits in the sandbox: bubblewrap is not installed");
if (!hasCgroups) console.log("left out: cgroups of sessions: none can be made here");

const nameOf = (task: Task) => task.sandbox?.cgroup?.name ?? "";

/** The cgroups of a session, wherever they are in the hierarchy. */
const cgroupsOf = ({ id }: Session) => cgroupLeftovers((name) => !name.includes(id)).map(({ name }) => name);

/** CAP_SYS_RESOURCE: without it, the kernel lets the task lower its OOM score to that of Holdfast again. */
const mayForbid =
  (BigInt(`0x${/^CapEff:\s+(\w+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? 0}`) >> 24n) %
    2n ===
  1n;
if (!mayForbid) console.log("left out: that it stays the first choice: this user may not forbid another");

/** Forks up to `count` processes in a group of their own, prints how many it got, and then runs `then`. */
const many = (count: number, then: string) =>
  `perl -e '$| = 1; setpgrp; for (1..${count}) { my $pid = fork; last unless defined $pid; if (!$pid) { sleep 60; exit } $n++ } print "started $n\\n"; ${then}'`;

describe.skipIf(!hasSandbox || !hasCgroups)("the cgroup of a session", () => {
  it("cgroup-1 limits a task's processes while another session goes on, and is removed when the task ends", async () => {
    using home = new TaskHome({ "holdfast.yaml": "quota: { processes: 20 }\n" });
    const hf = await home.open();
    const [wild, calm] = [await home.start(hf), await home.start(hf)];
    const name = nameOf(wild.task);
    expect(name).toContain(wild.session.id);
    const started = Promise.withResolvers<string>();
    const stop = new AbortController();
    const running = wild.task.runTurn(["sh", "-c", many(500, "sleep 60")], {
      signal: stop.signal,
      onOutput: (chunk) => started.resolve(String(chunk)),
    });
    expect(await Promise.race([started.promise, running])).toMatch(/^started ([12]\d|3\d)$/m);
    expect(findCgroup(name)?.pids().length).toBeGreaterThan(20);
    expect(await turn(calm.task, "seq 9 | sort | uniq | wc -l")).toBe("9");
    stop.abort();
    await running;
    for (const { session, task } of [wild, calm]) {
      await task.end("done");
      expect(cgroupsOf(session)).toEqual([]);
      await session.pause();
    }
  });

  it("cgroup-1 that a crash left is taken over by the next task or removed by gc, which keeps those of other homes", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "true");
    await task.end("done");
    const name = nameOf(task);
    const left = makeCgroup(name, { maxProcesses: 1 });
    const others = makeCgroup(`test-${name}`, { maxProcesses: 1 });
    try {
      const next = await hf.startTask(session, sandbox);
      expect(await turn(next, "seq 3 | sort | wc -l")).toBe("3");
      await next.end("done");
      expect(findCgroup(name)).toBeUndefined();
      makeCgroup(name, { maxProcesses: 1 });
      const cleared = async () => (await hf.gc()).done.map(({ what }) => what);
      expect(await cleared()).not.toContain(`cgroup ${name}`);
      await session.pause();
      expect(await cleared()).toContain(`cgroup ${name}`);
      expect(findCgroup(name)).toBeUndefined();
      expect(findCgroup(`test-${name}`)).toBeDefined();
    } finally {
      await left?.end();
      await others?.end();
    }
  });

  it("does not count the git processes that read the agent's files, which have a cgroup of their own", async () => {
    using home = new TaskHome({ "holdfast.yaml": "quota: { processes: 1000 }\n" });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const { cgroup, limits } = task.capsule.sandbox ?? {};
    expect(cgroup?.name).toBe(`${nameOf(task)}.git`);
    expect(cgroup?.limits.maxProcesses).toBeLessThan(1000);
    expect(limits?.maxProcesses).toBeGreaterThan(1000);
    await turn(task, "echo x > new; echo new > .gitignore");
    expect(findCgroup(cgroup?.name ?? "")).toBeDefined();
    await task.rest();
    expect(findCgroup(cgroup?.name ?? "")).toBeUndefined();
    await session.pause();
  });
});

describe.skipIf(!hasSandbox)("a task in its sandbox", () => {
  it("has a higher OOM score than Holdfast, and can't lower it if Holdfast has CAP_SYS_RESOURCE", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const look = "cat /proc/self/oom_score_adj";
    const own = Number(readFileSync("/proc/self/oom_score_adj", "utf8"));
    expect(Number(await turn(task, look))).toBeGreaterThan(own);
    const back = Number(await turn(task, `echo ${own} 2>/dev/null >/proc/self/oom_score_adj; ${look}`));
    if (mayForbid) expect(back).toBeGreaterThan(own);
    const below = await turn(task, `echo ${own - 1} 2>/dev/null >/proc/self/oom_score_adj; ${look}`);
    expect(Number(below)).toBeGreaterThanOrEqual(own);
    await task.end("done");
    await session.pause();
  });

  it("has limits on open files, core files, file size and processes", async () => {
    using home = new TaskHome({ "holdfast.yaml": "quota: { disk_mb: 8 }\n" });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const [open, core, file, processes] = (await turn(task, "ulimit -Hn; ulimit -Hc; ulimit -Hf; ulimit -Hp"))
      .split("\n")
      .map(Number);
    expect(open).toBeLessThanOrEqual(65_536);
    expect({ core, file }).toEqual({ core: 0, file: (8 * 1024 * 1024) / 512 });
    expect(processes).toBeGreaterThan(0);
    await task.end("done");
    await session.pause();
  });
});

describe("capsule.setup", () => {
  const endless =
    "i=0; while [ $i -lt 300 ]; do i=$((i+1)); head -c 2000000 /dev/zero > f$i; sleep 0.1; done";

  it.each(["overlay", "worktree"])(
    "is ended when it exceeds the disk quota of a task, and nothing of it is left (%s)",
    async (strategy) => {
      using home = new TaskHome({
        "setup.sh": endless,
        "holdfast.yaml": `capsule: { setup: sh ./setup.sh, strategy: ${strategy} }\nquota: { disk_mb: 20 }\n`,
      });
      const hf = await home.open();
      const session = await hf.openSession({ repo: home.main });
      await expect(hf.startTask(session, sandbox)).rejects.toMatchObject({
        code: "quota_reached",
        facts: { limit: "bytes" },
      });
      const [repo = ""] = namesIn(join(home.dir, "repos"));
      const bases = namesIn(join(home.dir, "repos", repo, "bases"));
      expect(bases.filter((name) => !name.endsWith(".lock"))).toEqual([]);
      expect(namesIn(home.capsuleDir(session.id))).toEqual([]);
      expect(cgroupsOf(session)).toEqual([]);
      await session.pause();
    },
  );

  it.skipIf(!hasSandbox || !hasCgroups)("cgroup-1 counts against its session's process quota", async () => {
    using home = new TaskHome({
      "setup.sh": `${many(500, "kill 9, 0")}; true\n`,
      "holdfast.yaml": "capsule: { setup: sh ./setup.sh }\nquota: { processes: 20 }\n",
    });
    const hf = await home.open();
    const session = await hf.openSession({ repo: home.main });
    let said = "";
    const onSetup = (chunk: Buffer) => {
      said += chunk;
    };
    await expect(hf.startTask(session, { ...sandbox, onSetup })).rejects.toMatchObject({
      code: "quota_reached",
      facts: { limit: "processes" },
    });
    expect(said).toMatch(/^started ([12]\d|3\d)$/m);
    expect(cgroupsOf(session)).toEqual([]);
    await session.pause();
  });
});

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}
