/**
 * Cgroups. Where this machine lets us make some, they hold real processes. Cgroup v2 is also tested on plain
 * files that stand in for the kernel's, which works on every machine.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import {
  type Cgroup,
  cgroupLeftovers,
  makeCgroup,
  refusalsFromNow,
  tryCgroup,
} from "../../src/process/cgroup.ts";
import { writingFirst } from "../../src/process/first-writes.ts";
import { runProgram } from "../../src/process/index.ts";
import { TempDir } from "../support/home.ts";

const leaveOut = (what: string, why: string) => console.log(`left out: ${what}: ${why}`);
const env = { PATH: process.env["PATH"] ?? "" };
const prefix = `test-${process.pid}-`;
const MEGABYTE = 1024 * 1024;

const made: Cgroup[] = [];
/** Makes a cgroup that is ended after the test, even when the test fails. */
function make(name: string, limits: Parameters<typeof makeCgroup>[1]): Cgroup {
  const cgroup = makeCgroup(`${prefix}${name}`, limits);
  if (!cgroup) throw new Error("it could be made before");
  made.push(cgroup);
  return cgroup;
}
afterEach(async () => {
  for (const cgroup of made.splice(0)) await cgroup.end();
});

const trial = makeCgroup(`${prefix}trial`, { maxProcesses: 10, maxMemoryBytes: 64 * MEGABYTE });
afterAll(() => trial?.end());
if (!trial?.limits.processes) leaveOut("cgroups that count processes", "none can be made here");
if (!trial?.limits.memory) leaveOut("cgroups that count memory", "none can be made here");

/** Doubles itself nine times at most, so that it stops even where no limit holds it. */
const BOMB = 'fork for 1..9; print "."; sleep 60';
const run = (cgroup: Cgroup, ...argv: string[]) =>
  runProgram([...writingFirst(cgroup.entry), ...argv], { env, cwd: "/", timeoutMs: 60_000 });

function start(cgroup: Cgroup, ...argv: string[]): ChildProcess {
  const [program = "", ...args] = [...writingFirst(cgroup.entry), ...argv];
  return spawn(program, args, { env, cwd: "/", stdio: ["ignore", "pipe", "inherit"] });
}

describe.skipIf(!trial?.limits.processes)("a cgroup", () => {
  it("cgroup-1 keeps a fork bomb from disturbing another cgroup, and kills it when it is ended", async () => {
    const [wild, calm] = [make("wild", { maxProcesses: 40 }), make("calm", { maxProcesses: 40 })];
    const [wilds, calms] = [refusalsFromNow(wild.name), refusalsFromNow(calm.name)];
    const bomb = start(wild, "perl", "-e", `$| = 1; ${BOMB}`);
    const ended = once(bomb, "close");
    for (let heard = 0; heard < 30; )
      heard += String(await once(bomb.stdout as NodeJS.ReadableStream, "data")).length;
    const many = "for i in 1 2 3 4 5; do seq 9 | sort | uniq | wc -l || exit; done";
    expect((await run(calm, "sh", "-c", many)).stdout.toString()).toBe("9\n".repeat(5));
    expect(wild.pids().length).toBeGreaterThan(30);
    expect(wild.pids().length).toBeLessThanOrEqual(40);
    expect(wilds().processes).toBeGreaterThan(0);
    expect(calms()).toEqual({ processes: 0, memory: 0 });
    await wild.end();
    await ended;
    expect(bomb.signalCode).toBe("SIGKILL");
    expect(wild.pids()).toEqual([]);
  });

  it("cgroup-1 contains and ends processes that have left their parent and their terminal", async () => {
    const cgroup = make("strays", { maxProcesses: 40 });
    await run(cgroup, "sh", "-c", "setsid sh -c 'sleep 60 & sleep 60' >/dev/null 2>&1 &");
    expect(cgroup.pids().length).toBeGreaterThan(0);
    const strays = cgroup.pids();
    await cgroup.end();
    for (const pid of strays) expect(existsSync(`/proc/${pid}/root`)).toBe(false);
  });

  it.skipIf(!trial?.limits.memory)("kills a process that takes too much memory, and no other", async () => {
    const limits = { maxProcesses: 40, maxMemoryBytes: 64 * MEGABYTE };
    const [greedy, calm] = [make("greedy", limits), make("beside", limits)];
    const [greedys, calms] = [refusalsFromNow(greedy.name), refusalsFromNow(calm.name)];
    const take = (megabytes: number) => ["perl", "-e", `$x = "a" x (${megabytes} << 20); print length $x`];
    const [killed, fine] = await Promise.all([run(greedy, ...take(200)), run(calm, ...take(10))]);
    expect(killed.signal).toBe("SIGKILL");
    expect(fine.stdout.toString()).toBe(String(10 * MEGABYTE));
    expect(greedys().memory).toBeGreaterThan(0);
    expect(calms().memory).toBe(0);
  });

  it("is found and ended as a leftover when it is abandoned, but not while it is in use", async () => {
    const [left, live] = [make("left", { maxProcesses: 5 }), make("live", { maxProcesses: 5 })];
    const found = cgroupLeftovers((name) => !name.startsWith(prefix) || name === live.name);
    expect(found.map(({ name }) => name)).toContain(left.name);
    expect(found.map(({ name }) => name)).not.toContain(live.name);
    for (const one of found) if (one.name === left.name) await one.end();
    expect((await run(left, "true")).exitCode).not.toBe(0);
    expect((await run(live, "true")).exitCode).toBe(0);
  });

  it("can be ended twice and made again under the same name, and leaves no directory behind", async () => {
    const first = make("again", { maxProcesses: 5 });
    await first.end();
    await first.end();
    const second = make("again", { maxProcesses: 6 });
    expect((await run(second, "echo", "in it")).stdout.toString()).toBe("in it\n");
    const dirs = second.entry.map(({ file }) => dirname(file));
    await second.end();
    for (const dir of dirs) expect(existsSync(dir)).toBe(false);
  });
});

/**
 * The files of a system with cgroup v2 only. Those that the kernel makes with each directory are made
 * beforehand.
 */
class NewForm extends TempDir {
  readonly proc = this.join("proc");

  constructor(own: string, handed: Readonly<Record<string, string>>) {
    super();
    this.write("proc/mountinfo", `31 23 0:28 / ${this.join("tree")} rw - cgroup2 cgroup2 rw,nsdelegate\n`);
    this.write("proc/cgroup", `0::${own}\n`);
    for (const [dir, controllers] of Object.entries(handed)) {
      for (const file of ["cgroup.procs", "cgroup.controllers"]) this.write(`tree${dir}/${file}`, "");
      this.write(`tree${dir}/cgroup.subtree_control`, controllers);
    }
    this.write("tree/cgroup.controllers", "cpu memory pids\n");
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(this.join(path)), { recursive: true });
    writeFileSync(this.join(path), text);
  }

  read(path: string): string {
    return readFileSync(this.join("tree", path), "utf8");
  }

  prepare(dir: string): void {
    for (const file of ["cgroup.subtree_control", "one/cgroup.procs", "one/pids.max", "one/memory.max"])
      this.write(`tree${dir}/holdfast/${file}`, "");
  }
}

describe("a v2 cgroup", () => {
  const limits = { maxProcesses: 40, maxMemoryBytes: 1000 };

  it("is made in our nearest ancestor that delegates its controllers", () => {
    using system = new NewForm("/slice/ours/leaf", {
      "/slice": "memory pids",
      "/slice/ours": "cpu",
      "/slice/ours/leaf": "",
    });
    for (const dir of ["/slice", "/slice/ours"]) system.prepare(dir);
    const cgroup = makeCgroup("one", limits, system.proc);
    expect(cgroup?.limits).toEqual({ processes: true, memory: true });
    expect(cgroup?.entry).toEqual([{ text: "0", file: system.join("tree/slice/holdfast/one/cgroup.procs") }]);
    expect(system.read("slice/holdfast/cgroup.subtree_control")).toBe("+pids +memory");
    expect(system.read("slice/holdfast/one/pids.max")).toBe("40");
    expect(system.read("slice/holdfast/one/memory.max")).toBe("1000");
    expect(system.read("slice/cgroup.subtree_control")).toBe("memory pids");
  });

  it("has only the limits whose controllers are delegated", () => {
    using system = new NewForm("/slice/leaf", { "/slice": "pids", "/slice/leaf": "" });
    system.prepare("/slice");
    const cgroup = makeCgroup("one", limits, system.proc);
    expect(cgroup?.limits).toEqual({ processes: true, memory: false });
    expect(system.read("slice/holdfast/one/memory.max")).toBe("");
  });

  it("is not made where no controller is delegated or the tree is not visible", () => {
    using system = new NewForm("/slice/leaf", { "/slice": "cpu", "/slice/leaf": "" });
    expect(makeCgroup("one", limits, system.proc)).toBeUndefined();
    system.write("proc/cgroup", "0::/../elsewhere\n");
    expect(makeCgroup("one", limits, system.proc)).toBeUndefined();
    expect(makeCgroup("one", limits, system.join("nowhere"))).toBeUndefined();
  });

  it("reports the processes that we can see, and how often the kernel refused processes and memory", () => {
    using system = new NewForm("/slice/leaf", { "/slice": "memory pids", "/slice/leaf": "" });
    system.prepare("/slice");
    const cgroup = makeCgroup("one", limits, system.proc);
    const refused = refusalsFromNow("one", system.proc);
    system.write("tree/slice/holdfast/one/cgroup.procs", "0\n12\n13\n");
    system.write("tree/slice/holdfast/one/pids.events", "max 7\n");
    system.write("tree/slice/holdfast/one/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
    expect(cgroup?.pids()).toEqual([12, 13]);
    expect(refused()).toEqual({ processes: 7, memory: 2 });
  });

  it("is removed, and the last one takes the directory of all our cgroups with it", async () => {
    using system = new NewForm("/slice/leaf", { "/slice": "memory pids", "/slice/leaf": "" });
    system.prepare("/slice");
    const [cgroup] = cgroupLeftovers(() => false, system.proc);
    // The kernel would remove its files together with their directory.
    const ours = system.join("tree/slice/holdfast");
    for (const file of ["cgroup.subtree_control", "one/cgroup.procs", "one/pids.max", "one/memory.max"])
      rmSync(join(ours, file));
    await cgroup?.end();
    expect(existsSync(ours)).toBe(false);
  });
});

it("tryCgroup finds which limits the kernel would hold, also where it holds none", async () => {
  expect(await tryCgroup()).toEqual(trial?.limits ?? { processes: false, memory: false });
  expect(await tryCgroup("/nonexistent")).toEqual({ processes: false, memory: false });
});

it("makeCgroup refuses a name that is not safe as the name of a directory", () => {
  for (const name of ["", "..", "a/b", "../a", "-x", "a\nb", "a b"])
    expect(() => makeCgroup(name, { maxProcesses: 1 }, "/nonexistent")).toThrow(/name of a cgroup/);
});
