/**
 * Owns cgroups: the cgroup of a session, in which the kernel counts the processes and memory of everything
 * that runs for it, whichever user it runs as. Root can make one; other users can if the system has delegated
 * a part of the tree to them.
 *
 * cgroup-1 A process that begins with the writes of `entry` can't leave: the limits apply to everything that
 *    it starts, and `end` ends all of it.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type CgroupLimits,
  findDir,
  type KernelRefusals,
  makeDir,
  pidsIn,
  refusedIn,
  removeDir,
  setIfThere,
} from "./cgroup-dir.ts";
import { cgroupParents, directoriesIn, OWN_PROC, ourDirectories } from "./cgroup-parents.ts";
import type { FirstWrite } from "./first-writes.ts";
import { endAll } from "./marks.ts";

export interface Cgroup {
  readonly name: string;
  /** The limits that the kernel enforces in it: a machine may have only one of the two. */
  readonly limits: { readonly processes: boolean; readonly memory: boolean };
  /**
   * Puts a command into it. This comes before all other words, because it takes rights that the others give
   * up.
   */
  readonly entry: readonly FirstWrite[];
  pids(): number[];
  /** Ends what is in it and removes it. It may be gone already. */
  end(): Promise<void>;
}

/** Enough for a cgroup that nothing is started in. */
const TRIAL_LIMITS: CgroupLimits = { maxProcesses: 10, maxMemoryBytes: 64 * 1024 * 1024 };

const SAFE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,120}$/;

/** The cgroup that a sandbox is counted in. The first process that is started in it makes it. */
export interface CgroupShare {
  readonly name: string;
  readonly limits: CgroupLimits;
}

/** Undefined if none can be made. A cgroup of that name that was left behind is taken over. */
export function makeCgroup(name: string, limits: CgroupLimits, proc = OWN_PROC): Cgroup | undefined {
  assertSafe(name);
  const wanted = limits.maxMemoryBytes === undefined ? (["pids"] as const) : (["pids", "memory"] as const);
  const made = cgroupParents(wanted, proc).flatMap((parents) => makeDir(parents, name, limits) ?? []);
  if (made.length === 0) return undefined;
  const controllers = new Set(made.flatMap((one) => one.controllers));
  return cgroupIn(
    name,
    made.map(({ dir }) => dir),
    { processes: controllers.has("pids"), memory: controllers.has("memory") },
  );
}

/** What the kernel would count of a session that this process starts. A cgroup is made for this, and removed. */
export async function tryCgroup(proc = OWN_PROC): Promise<Cgroup["limits"]> {
  const trial = makeCgroup(`trial-${randomUUID()}`, TRIAL_LIMITS, proc);
  await trial?.end();
  return trial?.limits ?? { processes: false, memory: false };
}

/** The cgroup of that name in the place where we would make it; undefined if there is none. */
export function findCgroup(name: string, proc = OWN_PROC): Cgroup | undefined {
  assertSafe(name);
  const dirs = cgroupParents(["pids", "memory"], proc).flatMap((parents) => findDir(parents, name) ?? []);
  return dirs.length === 0 ? undefined : cgroupIn(name, dirs, { processes: false, memory: false });
}

/** Counts what the kernel refuses in it from now on. The cgroup may be made later. */
export function refusalsFromNow(name: string, proc = OWN_PROC): () => KernelRefusals {
  const dirsNow = () =>
    cgroupParents(["pids", "memory"], proc).flatMap((parents) => findDir(parents, name) ?? []);
  const before = refusedIn(dirsNow());
  return () => {
    const now = refusedIn(dirsNow());
    return { processes: now.processes - before.processes, memory: now.memory - before.memory };
  };
}

/**
 * Our cgroups that no live session needs. Other homes have theirs in the same place: `isLive` is asked about
 * each name.
 */
export function cgroupLeftovers(isLive: (name: string) => boolean, proc = OWN_PROC): Cgroup[] {
  const dirs = ourDirectories(proc).flatMap((dir) => directoriesIn(dir).map((name) => ({ name, dir })));
  const names = new Set(dirs.map(({ name }) => name).filter((name) => SAFE_NAME.test(name) && !isLive(name)));
  return [...names].map((name) => {
    const own = dirs.filter((one) => one.name === name).map(({ dir }) => join(dir, name));
    return cgroupIn(name, own, { processes: false, memory: false });
  });
}

function assertSafe(name: string): void {
  if (!SAFE_NAME.test(name)) throw new Error(`${JSON.stringify(name)} can't be the name of a cgroup`);
}

function cgroupIn(name: string, dirs: readonly string[], limits: Cgroup["limits"]): Cgroup {
  const pids = () => [...new Set(dirs.flatMap(pidsIn))];
  return {
    name,
    limits,
    entry: dirs.map(entering),
    pids,
    end: async () => {
      for (const dir of dirs) {
        // No process can be added, and if the kernel can end all of them at once, it does.
        setIfThere(dir, "pids.max", "0");
        setIfThere(dir, "cgroup.kill", "1");
      }
      await endAll(pids);
      for (const dir of dirs) await removeDir(dir);
    },
  };
}

/**
 * Zero means the process that writes. In the old form a thread can move itself alone, and a shell has only
 * one. Moving a whole process waits until every processor has passed a safe point, which takes ten
 * milliseconds.
 */
function entering(dir: string): FirstWrite {
  const file = ["tasks", "cgroup.procs"].map((name) => join(dir, name)).find((path) => existsSync(path));
  return { text: "0", file: file ?? join(dir, "cgroup.procs") };
}
