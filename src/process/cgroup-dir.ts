/**
 * Owns one directory of a cgroup, through which the kernel is told what to count: made with its limits, read,
 * removed.
 */
import { closeSync, constants, existsSync, mkdirSync, openSync, rmdirSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../contract/index.ts";
import { deadline, errorCode, readTextOr, systemClock } from "../util/index.ts";
import { type CgroupParent, OURS, wordsOf } from "./cgroup-parents.ts";

export interface CgroupLimits {
  /** Threads count as processes. */
  readonly maxProcesses: number;
  /** Memory and swap. */
  readonly maxMemoryBytes?: number;
}

/** How often the kernel refused a new process, and how often it ended one because memory ran out. */
export interface KernelRefusals {
  readonly processes: number;
  readonly memory: number;
}

/** Another session process may remove the directory of all our cgroups between two steps, if it is empty. */
const MAKE_ATTEMPTS = 5;
const END_MS = 10_000;
/** The kernel does not notify when the last process has left. */
const LOOK_MS = 2;

/** Makes it in the first of these parents that allows it. Returns the directory that was made. */
export function makeDir(
  parents: readonly CgroupParent[],
  name: string,
  limits: CgroupLimits,
): CgroupParent | undefined {
  for (const parent of parents) {
    const dir = join(parent.dir, OURS, name);
    try {
      makeIn(parent, dir);
      setLimits(parent, dir, limits);
      return { ...parent, dir };
    } catch {
      // We may not make it there, or it can't count: treated as if there were none.
      removeEmpty(dir);
    }
  }
  return undefined;
}

/** Where it is, if it exists. */
export function findDir(parents: readonly CgroupParent[], name: string): string | undefined {
  return parents.map(({ dir }) => join(dir, OURS, name)).find((dir) => existsSync(dir));
}

function makeIn({ dir: parent, version, controllers }: CgroupParent, dir: string): void {
  const added = controllers.map((one) => `+${one}`).join(" ");
  for (let attempt = 1; ; attempt += 1)
    try {
      // In the new form, a cgroup passes its controllers down only while it has no process itself.
      if (version === 2 && !hands(parent, controllers)) set(parent, "cgroup.subtree_control", added);
      mkdirSync(dirname(dir), { recursive: true });
      if (version === 2 && !hands(dirname(dir), controllers))
        set(dirname(dir), "cgroup.subtree_control", added);
      mkdirSync(dir, { recursive: true });
      return;
    } catch (error) {
      if (errorCode(error) !== "ENOENT" || attempt === MAKE_ATTEMPTS) throw error;
    }
}

function hands(dir: string, controllers: readonly string[]): boolean {
  const handed = wordsOf(readTextOr(join(dir, "cgroup.subtree_control"), ""));
  return controllers.every((one) => handed.includes(one));
}

function setLimits({ version, controllers }: CgroupParent, dir: string, limits: CgroupLimits): void {
  if (controllers.includes("pids")) set(dir, "pids.max", String(limits.maxProcesses));
  if (!controllers.includes("memory")) return;
  const bytes = String(limits.maxMemoryBytes);
  if (version === 2) {
    set(dir, "memory.max", bytes);
    setIfThere(dir, "memory.swap.max", "0");
  } else {
    // Never below the limit of memory alone. Without swap the file does not exist.
    setIfThere(dir, "memory.memsw.limit_in_bytes", "-1");
    set(dir, "memory.limit_in_bytes", bytes);
    setIfThere(dir, "memory.memsw.limit_in_bytes", bytes);
  }
}

/** The files belong to the kernel: writing makes none, and some can't be read. */
function set(dir: string, file: string, value: string): void {
  const fd = openSync(join(dir, file), constants.O_WRONLY);
  try {
    writeSync(fd, value);
  } finally {
    closeSync(fd);
  }
}

export function setIfThere(dir: string, file: string, value: string): void {
  try {
    set(dir, file, value);
  } catch {
    // This kernel has no such file, or the cgroup is gone.
  }
}

/**
 * A process that our pid namespace does not show is listed as zero. A signal to that would be sent to
 * ourselves.
 */
export function pidsIn(dir: string): number[] {
  return wordsOf(readTextOr(join(dir, "cgroup.procs"), ""))
    .map(Number)
    .filter((pid) => pid > 0);
}

export function refusedIn(dirs: readonly string[]): KernelRefusals {
  const count = (file: string, word: string) =>
    dirs.reduce((sum, dir) => {
      const found = new RegExp(`^${word} (\\d+)$`, "m").exec(readTextOr(join(dir, file), ""))?.[1];
      return sum + Number(found ?? 0);
    }, 0);
  return {
    processes: count("pids.events", "max"),
    memory: count("memory.oom_control", "oom_kill") + count("memory.events", "oom_kill"),
  };
}

export async function removeDir(dir: string): Promise<void> {
  for (const patience = deadline(systemClock, END_MS); ; await sleep(LOOK_MS)) {
    const isGone = removeEmpty(dir);
    if (isGone) return;
    if (patience.isPast)
      throw new HoldfastError("processes_remain", `the cgroup ${dir} could not be removed`);
  }
}

/** Also removes the directory of all our cgroups, with the last one. */
function removeEmpty(dir: string): boolean {
  try {
    rmdirSync(dir);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") return false;
  }
  try {
    rmdirSync(dirname(dir));
  } catch {
    // Other sessions have cgroups in it.
  }
  return true;
}
