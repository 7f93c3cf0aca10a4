/**
 * Owns the running of a task's command: its output as it comes, and its end.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
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

export async function runCommand(options: CommandOptions): Promise<CommandEnd> {
  const [program = "", ...args] = options.argv;
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: options.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.on("data", (chunk: Buffer) => options.onOutput(chunk, "stdout"));
  child.stderr.on("data", (chunk: Buffer) => options.onOutput(chunk, "stderr"));
  const end = () => child.kill("SIGKILL");
  options.signal?.addEventListener("abort", end, { once: true });
  try {
    await once(child, "spawn").catch((error: unknown) => {
      throw missing(program, error);
    });
    if (options.signal?.aborted) end();
    const ended = once(child, "close");
    await options.onStart?.(child.pid ?? 0);
    await ended;
    return { exitCode: child.exitCode, signal: child.signalCode };
  } finally {
    options.signal?.removeEventListener("abort", end);
  }
}

/** Starts something that goes on after us, and that nobody waits for. */
export function startDetached(argv: readonly string[], env: Readonly<Record<string, string>>): void {
  const [program = "", ...args] = argv;
  const child = spawn(program, args, { cwd: "/", env, detached: true, stdio: "ignore" });
  child.on("error", () => {});
  child.unref();
}
