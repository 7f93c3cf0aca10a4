/**
 * Owns the question whether a process has a file open, as far as the kernel shows us its descriptors.
 */
import { existsSync, readdirSync, statSync } from "node:fs";

/** Undefined if this system has no answer. Processes that we may not look into count as not having it. */
export function isOpenAnywhere(path: string): boolean | undefined {
  const wanted = statSync(path, { throwIfNoEntry: false });
  if (!wanted) return false;
  if (!existsSync("/proc/self/fd")) return undefined;
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.some((pid) => descriptorsOf(pid).some((fd) => isSame(`/proc/${pid}/fd/${fd}`, wanted)));
}

function descriptorsOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    // It has ended, or is another user's.
    return [];
  }
}

function isSame(path: string, { dev, ino }: { readonly dev: number; readonly ino: number }): boolean {
  try {
    const stats = statSync(path);
    return stats.dev === dev && stats.ino === ino;
  } catch {
    return false;
  }
}
