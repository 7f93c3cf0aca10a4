/**
 * Owns what a child gets of the descriptors that somebody left open in us: nothing. Node closes its own in a
 * child; those that our starter handed down, a shell's `exec 200>lock` say, would go on down.
 */
import { openSync, readdirSync } from "node:fs";
import { readTextOr } from "../util/index.ts";

const CLOSE_ON_EXEC = 0o2000000;

type Stdio = "pipe" | "ignore" | "ipc" | number;

/** The first ones as they are said, and /dev/null in the place of every other one that would be inherited. */
export function onlyStdio(stdio: readonly Stdio[]): Stdio[] {
  const said = stdio.length;
  const leaked = new Set(inherited().filter((fd) => fd >= said));
  if (leaked.size === 0) return [...stdio];
  // Of no use to anybody, so it may stay open. What is only ignored here would be handed down all the same.
  const nothing = openSync("/dev/null", "r+");
  const others = Array.from({ length: Math.max(...leaked) + 1 - said }, (_, index) =>
    leaked.has(index + said) ? nothing : "ignore",
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
