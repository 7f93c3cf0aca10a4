/**
 * Owns which of our inherited descriptors a child gets: none. Node closes its own in a child, but descriptors
 * that our starter left open, for example with a shell's `exec 200>lock`, would be inherited.
 */
import { openSync, readdirSync } from "node:fs";
import { readTextOr } from "../util/index.ts";

const CLOSE_ON_EXEC = 0o2000000;

/** Stays open for the next child. */
let nothing: number | undefined;

type Stdio = "pipe" | "ignore" | "ipc" | number;

/** The first ones as given, and /dev/null in place of every other descriptor that would be inherited. */
export function onlyStdio(stdio: readonly Stdio[]): Stdio[] {
  const said = stdio.length;
  const leaked = new Set(inherited().filter((fd) => fd >= said));
  if (leaked.size === 0) return [...stdio];
  // A descriptor that is only ignored here would be inherited all the same.
  nothing ??= openSync("/dev/null", "r+");
  const others = Array.from({ length: Math.max(...leaked) + 1 - said }, (_, index) =>
    leaked.has(index + said) ? (nothing as number) : "ignore",
  );
  return [...stdio, ...others];
}

function inherited(): number[] {
  try {
    return readdirSync("/proc/self/fd")
      .map(Number)
      .filter((fd) => fd > 2 && isInherited(fd));
  } catch {
    return [];
  }
}

function isInherited(fd: number): boolean {
  const flags = /^flags:\s+([0-7]+)/m.exec(readTextOr(`/proc/self/fdinfo/${fd}`, ""))?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
}
