/**
 * Owns the use of our terminal: a program that a person uses in it, such as an editor, has it alone until it
 * ends. In the background we do not have it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { programPath } from "./outside-program.ts";
import { missing } from "./program.ts";

/** A process in the background is stopped when it reads from a terminal. */
export function isInForeground(): boolean {
  try {
    const [, , group, , , foreground] = readFileSync("/proc/self/stat", "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return group === foreground;
  } catch {
    return true;
  }
}

/** Its exit status. A status above 128 may also mean a signal. */
export async function runInForeground(argv: readonly string[], cwd: string): Promise<number> {
  const [program = "", ...args] = argv;
  const child = spawn(programPath(program), args, { cwd, stdio: "inherit" });
  // Keys such as Ctrl-C belong to the program now.
  const ignore = () => {};
  process.on("SIGINT", ignore);
  try {
    const exited = once(child, "exit");
    await once(child, "spawn").catch((error: unknown) => {
      exited.catch(() => {});
      throw missing(program, error, cwd);
    });
    const [status] = (await exited) as [number | null];
    return status ?? 1;
  } finally {
    process.off("SIGINT", ignore);
  }
}
