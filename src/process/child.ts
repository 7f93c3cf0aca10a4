/**
 * Owns the starting of processes: the only place that does.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface Child {
  readonly pid: number;
  /** Its standard output, line by line. */
  readonly lines: AsyncIterable<string>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when it has ended, with its exit status; null when a signal ended it. */
  ended(): Promise<number | null>;
}

/** Starts this very program again with other arguments. Its standard error goes where ours does. */
export function startSelf(args: readonly string[]): Child {
  const program = process.argv[1] ?? "";
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const end = once(child, "exit");
  return {
    pid: child.pid ?? 0,
    lines: createInterface({ input: child.stdout }),
    kill: (signal) => child.kill(signal),
    ended: async () => {
      await end;
      return child.exitCode;
    },
  };
}
