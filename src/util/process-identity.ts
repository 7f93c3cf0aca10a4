/**
 * Owns the name of a process that outlasts it: a pid alone may be another process tomorrow.
 */
import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** From the kernel, in ticks since boot: tells a reused pid apart. Null where the system doesn't say. */
  readonly startTicks: number | null;
}

export function identityOf(pid: number): ProcessIdentity {
  return { pid, startTicks: statOf(pid)?.startTicks ?? null };
}

/** One that has ended and waits for its parent to notice is not alive. */
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

/** A negative pid is a group. One that is gone meanwhile needs no signal. */
export function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone, or not ours to end.
  }
}

/** Only what has the form of one: these stand in files. */
export function parseIdentity(value: Record<string, unknown> | undefined): ProcessIdentity | undefined {
  if (!value || !Number.isSafeInteger(value["pid"]) || (value["pid"] as number) <= 0) return undefined;
  const startTicks = value["startTicks"];
  return { pid: value["pid"] as number, startTicks: typeof startTicks === "number" ? startTicks : null };
}

function statOf(pid: number): { startTicks: number; hasEnded: boolean } | undefined {
  const stat = readTextOr(`/proc/${pid}/stat`, undefined);
  // The name in parentheses may hold anything, so count fields from behind it: fields 3 and 22 of proc(5).
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
