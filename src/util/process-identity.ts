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
  return { pid, startTicks: startTicksOf(pid) };
}

export function isAlive({ pid, startTicks }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  return startTicks === null || startTicks === startTicksOf(pid);
}

/** Only what has the form of one: these stand in files. */
export function parseIdentity(value: Record<string, unknown> | undefined): ProcessIdentity | undefined {
  if (!value || !Number.isSafeInteger(value["pid"]) || (value["pid"] as number) <= 0) return undefined;
  const startTicks = value["startTicks"];
  return { pid: value["pid"] as number, startTicks: typeof startTicks === "number" ? startTicks : null };
}

function startTicksOf(pid: number): number | null {
  const stat = readTextOr(`/proc/${pid}/stat`, undefined);
  // The name in parentheses may hold anything, so count fields from behind it: field 22 of proc(5).
  return stat === undefined ? null : Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
}

export function readTextOr<T>(path: string, otherwise: T): string | T {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}
