/**
 * Owns the name of a process that stays valid after the process ends: a pid alone may be another process
 * tomorrow.
 */
import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /**
   * From the kernel, in ticks since boot. It tells a reused pid apart. Null if the system does not report it.
   */
  readonly startTicks: number | null;
}

export function identityOf(pid: number): ProcessIdentity {
  return { pid, startTicks: statOf(pid)?.startTicks ?? null };
}

/** A process that has ended but is not yet reaped by its parent is not alive. */
export function isAlive({ pid, startTicks }: ProcessIdentity): boolean {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  const stat = statOf(pid);
  if (!stat) return startTicks === null;
  return !stat.hasEnded && (startTicks === null || startTicks === stat.startTicks);
}

/** A negative pid means a process group. A process that has ended meanwhile needs no signal. */
export function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended, or it is not ours to end.
  }
}

/** Accepts only what has the form of an identity, because it comes from files. */
export function parseIdentity(value: Record<string, unknown> | undefined): ProcessIdentity | undefined {
  if (!value || !Number.isSafeInteger(value["pid"]) || (value["pid"] as number) <= 0) return undefined;
  const startTicks = value["startTicks"];
  return { pid: value["pid"] as number, startTicks: typeof startTicks === "number" ? startTicks : null };
}

function statOf(pid: number): { startTicks: number; hasEnded: boolean } | undefined {
  const stat = readTextOr(`/proc/${pid}/stat`, undefined);
  // The name in parentheses may contain anything, so count the fields after it: fields 3 and 22 of proc(5).
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields && { startTicks: Number(fields[19]), hasEnded: fields[0] === "Z" || fields[0] === "X" };
}

export function readTextOr<T>(path: string, otherwise: T): string | T {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}
