/**
 * Owns the running of a task's command: its output as it comes, and its end, which is the end of all it started
 * in its process group.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { onlyStdio } from "./descriptors.ts";
import { missing } from "./program.ts";

export interface CommandOptions {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Both streams, as they come. */
  readonly onOutput: (chunk: Buffer, stream: "stdout" | "stderr") => void;
  readonly onStart?: (pid: number) => void | Promise<void>;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
}

export interface CommandEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How long output may still come after the end: somebody else may hold the pipe open. */
const DRAIN_MS = 1000;

export async function runCommand(options: CommandOptions): Promise<CommandEnd> {
  const [program = "", ...args] = options.argv;
  // A group of its own: a Ctrl-C at the terminal is ours to hand on, and ends all of it.
  const child: ChildProcess = spawn(program, args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: onlyStdio(["ignore", "pipe", "pipe"]),
  });
  child.stdout?.on("data", (chunk: Buffer) => options.onOutput(chunk, "stdout"));
  child.stderr?.on("data", (chunk: Buffer) => options.onOutput(chunk, "stderr"));
  const end = () => endGroup(child);
  const exited = once(child, "exit");
  const closed = once(child, "close").catch(() => {});
  exited.catch(() => {});
  options.signal?.addEventListener("abort", end, { once: true });
  try {
    await once(child, "spawn").catch((error: unknown) => {
      throw missing(program, error, options.cwd);
    });
    if (options.signal?.aborted) end();
    await started(child, options, end);
    await exited;
    end();
    await Promise.race([closed, sleep(DRAIN_MS, undefined, { ref: false })]);
    return { exitCode: child.exitCode, signal: child.signalCode };
  } finally {
    options.signal?.removeEventListener("abort", end);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

/** Nothing runs that is not on record. */
async function started(child: ChildProcess, { onStart }: CommandOptions, end: () => void): Promise<void> {
  try {
    await onStart?.(child.pid ?? 0);
  } catch (error) {
    end();
    throw error;
  }
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}

/** Starts something that goes on after us, and that nobody waits for. */
export function startDetached(argv: readonly string[], env: Readonly<Record<string, string>>): void {
  const [program = "", ...args] = argv;
  const stdio = onlyStdio(["ignore", "ignore", "ignore"]);
  const child: ChildProcess = spawn(program, args, { cwd: "/", env, detached: true, stdio });
  child.on("error", () => {});
  child.unref();
}
