/**
 * Owns cgroups: the one of a session, in which the kernel counts processes and memory of all that runs for it, whoever
 * the user is. Root can make one; others where the system has handed a part of the tree to them.
 *
 * Q5 What is started through `enter` can't leave: the limits hold for all that it starts, and `end` ends all of it.
 */
import { join } from "node:path";
import {
  type CgroupLimits,
  findDir,
  makeDir,
  pidsIn,
  type Refused,
  refusedIn,
  removeDir,
  setIfThere,
} from "./cgroup-dir.ts";
import { cgroupParents, directoriesIn, OWN_PROC, ourDirectories } from "./cgroup-parents.ts";
import { endAll } from "./marks.ts";

export interface Cgroup {
  readonly name: string;
  /** What the kernel keeps in it: a machine may have only one of the two. */
  readonly limits: { readonly processes: boolean; readonly memory: boolean };
  /** The words that put a command into it. They go before all others: it takes rights that the others give up. */
  readonly enter: readonly string[];
  pids(): number[];
  /** Ends what is in it, and takes it away. It may be gone already. */
  end(): Promise<void>;
}

const SAFE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,120}$/;

/** What a sandbox is to be counted in. Whatever is started in it makes it, if it is not there. */
export interface CgroupShare {
  readonly name: string;
  readonly limits: CgroupLimits;
}

/** Undefined where none can be had. One of that name that was left behind is taken over. */
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

/** The one of that name, where we would make it ourselves; undefined where there is none. */
export function findCgroup(name: string, proc = OWN_PROC): Cgroup | undefined {
  assertSafe(name);
  const dirs = cgroupParents(["pids", "memory"], proc).flatMap((parents) => findDir(parents, name) ?? []);
  return dirs.length === 0 ? undefined : cgroupIn(name, dirs, { processes: false, memory: false });
}

/** What the kernel refuses in it from now on. It may be made later. */
export function refusalsFromNow(name: string, proc = OWN_PROC): () => Refused {
  const dirsNow = () =>
    cgroupParents(["pids", "memory"], proc).flatMap((parents) => findDir(parents, name) ?? []);
  const before = refusedIn(dirsNow());
  return () => {
    const now = refusedIn(dirsNow());
    return { processes: now.processes - before.processes, memory: now.memory - before.memory };
  };
}

/** Those of ours that nothing answers for. Other homes have theirs in the same place: `isLive` is asked of each name. */
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
    enter: entering(dirs),
    pids,
    end: async () => {
      for (const dir of dirs) {
        // Nothing in it can become more, and where the kernel can end all at once, it does.
        setIfThere(dir, "pids.max", "0");
        setIfThere(dir, "cgroup.kill", "1");
      }
      await endAll(pids);
      for (const dir of dirs) await removeDir(dir);
    },
  };
}

/** A shell that moves itself, and becomes the command; where that fails, there is no command. */
function entering(dirs: readonly string[]): string[] {
  const moves = dirs.map((_, index) => `echo $$ >"$${index + 1}"`).join(" && ");
  const script = `${moves} && shift ${dirs.length} && exec "$@"`;
  return ["/bin/sh", "-c", script, "holdfast-cgroup", ...dirs.map((dir) => join(dir, "cgroup.procs"))];
}
