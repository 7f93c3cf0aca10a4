/**
 * Owns running a program to its end: its input, its output, its time. It uses no shell.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { HoldfastError } from "../contract/index.ts";
import { errorCode, systemClock } from "../util/index.ts";
import { findOutsideProgram, programPath } from "./outside-program.ts";

export interface ProgramOptions {
  readonly cwd?: string;
  /** The complete environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly input?: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** After this time it is killed, and the result shows that. */
  readonly timeoutMs?: number;
  /** A longer standard output ends it. */
  readonly maxOutputBytes?: number;
  /** Receives standard output as it comes. It is not collected then. */
  readonly onOutput?: (chunk: Buffer) => void | Promise<void>;
  /** Receives standard error as it comes, with the pid of its process. */
  readonly onComplaint?: (chunk: Buffer, pid: number) => void;
  /** Descriptors of ours. The program has them as 3 and up. */
  readonly descriptors?: readonly number[];
  /** Called when the program has them, or could not be started. */
  readonly close?: () => void;
}

export interface ProgramResult {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isTimedOut: boolean;
  readonly stdout: Buffer;
  /** The last part of it, if it is long. */
  readonly stderr: string;
}

const STDERR_KEPT = 16 * 1024;
const DEFAULT_MAX_OUTPUT = 256 * 1024 * 1024;

/** Resolves however the program ends. Fails with `program_missing` if there is no program of that name. */
export async function runProgram(argv: readonly string[], options: ProgramOptions): Promise<ProgramResult> {
  const [program = "", ...args] = argv;
  const child = spawn(programPath(program), args, {
    cwd: options.cwd,
    env: options.env,
    stdio: [options.input ? "pipe" : "ignore", "pipe", "pipe", ...(options.descriptors ?? [])],
  });
  options.close?.();
  const timer = options.timeoutMs
    ? setTimeout(() => child.kill("SIGKILL"), options.timeoutMs).unref()
    : undefined;
  const startedMs = systemClock.monotonicMs();
  const started = new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => reject(missing(program, error, options.cwd)));
  });
  const ended = once(child, "close").catch(() => undefined);
  try {
    await started;
    const [stdout, stderr] = await Promise.all([
      collect(child, options),
      tail(child, options),
      feed(child, options.input, ended),
    ]);
    await ended;
    const tookMs = systemClock.monotonicMs() - startedMs;
    const isTimedOut = options.timeoutMs !== undefined && tookMs >= options.timeoutMs;
    return { exitCode: child.exitCode, signal: child.signalCode, isTimedOut, stdout, stderr };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function collect(
  child: ChildProcess,
  { onOutput, maxOutputBytes = DEFAULT_MAX_OUTPUT }: ProgramOptions,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    if (onOutput) {
      await onOutput(chunk);
      continue;
    }
    length += chunk.length;
    if (length > maxOutputBytes)
      throw new HoldfastError("output_too_large", `a program wrote more than ${maxOutputBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function tail({ stderr, pid = 0 }: ChildProcess, { onComplaint }: ProgramOptions): Promise<string> {
  let text = "";
  for await (const chunk of (stderr ?? []) as AsyncIterable<Buffer>) {
    onComplaint?.(chunk, pid);
    text = (text + chunk.toString("utf8")).slice(-STDERR_KEPT);
  }
  return text;
}

async function feed(
  child: ChildProcess,
  input: ProgramOptions["input"],
  ended: Promise<unknown>,
): Promise<void> {
  const { stdin } = child;
  if (!input || !stdin) return;
  let isGone = false;
  // A program may end without reading all of it. Its exit status counts, not the pipe.
  stdin.once("error", () => {
    isGone = true;
  });
  const chunks = iterate(input);
  // Code that waits for output of the program would wait forever once it has ended.
  const end = ended.then(() => ({ done: true as const, value: undefined }));
  for (;;) {
    const step = await Promise.race([chunks.next(), end]);
    if (step.done) break;
    if (isGone) return void chunks.return?.(undefined);
    if (!stdin.write(step.value)) await Promise.race([once(stdin, "drain").catch(() => {}), ended]);
  }
  stdin.end();
}

async function* iterate(input: NonNullable<ProgramOptions["input"]>): AsyncGenerator<Uint8Array> {
  yield* input;
}

export function missing(program: string, error: unknown, cwd?: string): unknown {
  // A missing directory gives the same error.
  if (errorCode(error) !== "ENOENT" || (cwd !== undefined && !existsSync(cwd))) return error;
  return new HoldfastError("program_missing", `there is no program ${program}`, { program });
}

/** Node can't make a FIFO itself. The arguments of a program are text, so the name must be text, too. */
export function runMkfifo(dir: string, name: string): void {
  const { error, status, stderr } = spawnSync(programPath("mkfifo"), ["-m", "600", "--", name], {
    cwd: dir,
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (error) throw missing("mkfifo", error, dir);
  if (status === 0) return;
  const said = stderr.trim();
  throw new HoldfastError(
    /No space left|Disk quota exceeded/.test(said) ? "disk_full" : "file_unwritable",
    `a FIFO could not be made: ${said}`,
  );
}

/** Removes a whole directory, including locked ones, before it returns: for the end of a process. */
export function removeTreeNow(path: string): void {
  for (const [name, ...args] of [
    ["chmod", "-R", "u+rwX"],
    ["rm", "-rf"],
  ] as const) {
    const program = findOutsideProgram(name);
    if (program !== undefined) spawnSync(program, [...args, "--", path], { stdio: "ignore" });
  }
}
