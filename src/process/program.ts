/**
 * Owns how a program is run to its end: its input, its output, its time. No shell stands in between.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { HoldfastError } from "../contract/index.ts";
import { errorCode, systemClock } from "../util/index.ts";
import { findOutsideProgram, programPath } from "./outside-program.ts";

export interface ProgramOptions {
  readonly cwd?: string;
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly input?: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** It is killed then, and the result says so. */
  readonly timeoutMs?: number;
  /** More than this of standard output ends it. */
  readonly maxOutputBytes?: number;
  /** Hears standard output as it comes; it is not collected then. */
  readonly onOutput?: (chunk: Buffer) => void | Promise<void>;
  /** Hears standard error as it comes, and whose it is. */
  readonly onComplaint?: (chunk: Buffer, pid: number) => void;
  /** Of ours; it has them as 3 and up. */
  readonly descriptors?: readonly number[];
  /** Called when it has them, or could not be started. */
  readonly close?: () => void;
}

export interface ProgramResult {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isTimedOut: boolean;
  readonly stdout: Buffer;
  /** Its end, if it is long. */
  readonly stderr: string;
}

const STDERR_KEPT = 16 * 1024;
const DEFAULT_MAX_OUTPUT = 256 * 1024 * 1024;

/** Resolves however the program ends; fails with `program_missing` when there is none of that name. */
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
  // A program may end without reading all of it: its exit status tells, not the pipe.
  stdin.once("error", () => {
    isGone = true;
  });
  const chunks = iterate(input);
  // What waits for the program to say something would wait for ever, once it has ended.
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
  // A directory that is not there gives the same error.
  if (errorCode(error) !== "ENOENT" || (cwd !== undefined && !existsSync(cwd))) return error;
  return new HoldfastError("program_missing", `there is no program ${program}`, { program });
}

/** Node can't make one itself. A program's words are text: the name must be, too. */
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

/** A whole directory, locked ones in it too, before anything else happens: for the end of a process. */
export function removeTreeNow(path: string): void {
  for (const [name, ...args] of [
    ["chmod", "-R", "u+rwX"],
    ["rm", "-rf"],
  ] as const) {
    const program = findOutsideProgram(name);
    if (program !== undefined) spawnSync(program, [...args, "--", path], { stdio: "ignore" });
  }
}
