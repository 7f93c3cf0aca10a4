/**
 * Owns whose a terminal is: programs that a person uses in our own, an editor say, have it to themselves until they end;
 * and in the background it is not ours.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { programPath } from "./outside-program.ts";
import { missing } from "./program.ts";

/** Whoever reads from a terminal in the background is stopped. */
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

/** Its exit status; 128 and the number of a signal are not told apart from others. */
export async function runInForeground(argv: readonly string[], cwd: string): Promise<number> {
  const [program = "", ...args] = argv;
  const child = spawn(programPath(program), args, { cwd, stdio: "inherit" });
  // Keys that mean something to us mean it to the program now.
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
