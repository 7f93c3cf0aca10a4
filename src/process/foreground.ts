/**
 * Owns programs that a person uses in our own terminal, an editor say: they have it to themselves until they end.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { missing } from "./program.ts";

/** Its exit status; 128 and the number of a signal are not told apart from others. */
export async function runInForeground(argv: readonly string[], cwd: string): Promise<number> {
  const [program = "", ...args] = argv;
  const child = spawn(program, args, { cwd, stdio: "inherit" });
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
