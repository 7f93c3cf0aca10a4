/**
 * Owns running a task's command: its output as it comes, and its end, which also ends everything that it
 * started in its process group.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import type { Duplex, Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { readTextOr, signalIfThere } from "../util/index.ts";
import { onlyStdio } from "./descriptors.ts";
import { openPipes } from "./pipes.ts";
import { missing } from "./program.ts";
import { treeOf } from "./tree.ts";

export interface CommandOptions {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Called for both streams, as output comes. Until it returns, no more of that stream is read. */
  readonly onOutput: (chunk: Buffer, stream: "stdout" | "stderr") => void | Promise<void>;
  readonly onStart?: (pid: number, input: Writable | null) => void | Promise<void>;
  /** Whether it has a standard input, which is passed to `onStart`. */
  readonly hasInput?: boolean;
  /** Aborting it ends the command. */
  readonly signal?: AbortSignal | undefined;
  /** Descriptors of ours. The command has them as 3 and up. */
  readonly descriptors?: readonly number[];
  /** Called when the command has them, or could not be started. */
  readonly close?: () => void;
}

/** How a command ended. */
export interface CommandEnd {
  /** Its exit status; null if a signal ended it. */
  readonly exitCode: number | null;
  /** The signal that ended it; null if it exited by itself. */
  readonly signal: NodeJS.Signals | null;
  /** It ended because it was asked to. */
  readonly isStopped: boolean;
}

/** How long it may take to end after it was asked to. */
const GRACE_MS = 2000;
/** How long output may come after the end: another process may hold the pipe open. */
const DRAIN_MS = 1000;

export async function runCommand(options: CommandOptions): Promise<CommandEnd> {
  const [program = "", ...args] = options.argv;
  const pipes = await openPipes({ hasInput: options.hasInput ?? false });
  // It gets a group of its own, so that a Ctrl-C at the terminal reaches only us, and we can end all of it.
  const child: ChildProcess = spawn(program, args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: onlyStdio([...pipes.stdio, ...(options.descriptors ?? [])]),
  });
  options.close?.();
  const { input, outputs } = pipes.of(child);
  // The command may have closed it. That is not an error.
  input?.on("error", () => {});
  const [stdout, stderr] = outputs;
  const letAllCome = [
    readPaced(stdout, (chunk) => options.onOutput(chunk, "stdout")),
    readPaced(stderr, (chunk) => options.onOutput(chunk, "stderr")),
  ];
  const end = () => endGroup(child);
  let grace: NodeJS.Timeout | undefined;
  const stop = () => {
    askToEnd(child);
    grace = setTimeout(end, GRACE_MS);
  };
  const exited = once(child, "exit");
  const closed = Promise.all(outputs.map((stream) => once(stream, "close").catch(() => {})));
  exited.catch(() => {});
  options.signal?.addEventListener("abort", stop, { once: true });
  try {
    await once(child, "spawn").catch((error: unknown) => {
      throw missing(program, error, options.cwd);
    });
    if (options.signal?.aborted) stop();
    await started(child, input, options, end);
    await exited;
    // Whether it was asked to stop while it ran, not after it had ended by itself.
    const isStopped = options.signal?.aborted ?? false;
    end();
    // Only what a pipe holds is left.
    for (const letCome of letAllCome) letCome();
    await Promise.race([closed, sleep(DRAIN_MS, undefined, { ref: false })]);
    return { exitCode: child.exitCode, signal: child.signalCode, isStopped };
  } finally {
    options.signal?.removeEventListener("abort", stop);
    clearTimeout(grace);
    for (const stream of [input, ...outputs]) stream?.destroy();
  }
}

/**
 * Reads at the pace of the reader: a faster writer waits, and does not fill our memory. The returned function
 * lifts that.
 */
function readPaced(stream: Readable, read: (chunk: Buffer) => void | Promise<void>): () => void {
  let isPaced = true;
  stream.on("data", (chunk: Buffer) => {
    const reading = read(chunk);
    if (!reading || !isPaced) return;
    stream.pause();
    const goOn = () => stream.resume();
    reading.then(goOn, goOn);
  });
  return () => {
    isPaced = false;
    stream.resume();
  };
}

/** A process runs only when it is on record. */
async function started(
  child: ChildProcess,
  input: Writable | null,
  { onStart }: CommandOptions,
  end: () => void,
): Promise<void> {
  try {
    await onStart?.(child.pid ?? 0, input);
  } catch (error) {
    end();
    throw error;
  }
}

/**
 * Programs that only stand around the command. Ending them would end the command before it could finish its
 * work.
 */
const AROUND = new Set(["bwrap", "script", "nsenter", "setpriv"]);

function askToEnd({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  for (const one of treeOf(pid)) {
    if (AROUND.has(readTextOr(`/proc/${one}/comm`, "").trim())) continue;
    signalIfThere(one, "SIGTERM");
  }
}

function endGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) signalIfThere(-pid, "SIGKILL");
}

export interface DetachedOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Where both its streams go. Default: nowhere. */
  readonly logFd?: number;
}

/** Starts a process that outlives us, in a session of its own. Resolves to its pid when it has started. */
export async function startDetached(argv: readonly string[], options: DetachedOptions): Promise<number> {
  return (await spawnDetached(argv, options, ({ out }) => ["ignore", out, out])).pid ?? 0;
}

/**
 * The same, with input from us that then ends, and with its output to us. Only its error stream goes to the
 * log.
 */
export async function startFed(
  argv: readonly string[],
  { input, ...options }: DetachedOptions & { readonly input: string },
): Promise<Readable> {
  const { output, feed } = await startWaiting(argv, options);
  feed(input);
  return output;
}

export interface Waiting {
  readonly pid: number;
  readonly output: Readable;
  /** Sends its input, once. If we are killed before that, it gets none. */
  feed(input: string): void;
}

/**
 * The same, but the process waits for its input, so that its identity can be recorded before it is told what
 * to do.
 */
export async function startWaiting(argv: readonly string[], options: DetachedOptions): Promise<Waiting> {
  const child = await spawnDetached(argv, options, ({ out }) => ["pipe", "pipe", out]);
  // It may end without reading it.
  child.stdin?.on("error", () => {});
  return {
    pid: child.pid ?? 0,
    output: child.stdout as Readable,
    feed: (input) => void child.stdin?.end(input),
  };
}

export interface Connected {
  readonly pid: number;
  /**
   * The other end is descriptor `CONNECTION_FD` of the process, which passes it to no process that it starts.
   */
  readonly connection: Duplex;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
}

/** The first descriptor after a process's own streams. */
export const CONNECTION_FD = 3;

/** The same, with a connection that lasts as long as both processes live. It does not keep us from ending. */
export async function startConnected(argv: readonly string[], options: DetachedOptions): Promise<Connected> {
  const child = await spawnDetached(argv, options, ({ out }) => ["ignore", out, out, "pipe"]);
  const connection = child.stdio[CONNECTION_FD] as Socket;
  connection.unref();
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return { pid: child.pid ?? 0, connection, ended };
}

async function spawnDetached(
  [program = "", ...args]: readonly string[],
  { env, logFd, cwd = "/" }: DetachedOptions,
  streams: (log: { readonly out: number | "ignore" }) => (number | "ignore" | "pipe")[],
): Promise<ChildProcess> {
  const stdio = onlyStdio(streams({ out: logFd ?? "ignore" }));
  const child: ChildProcess = spawn(program, args, { cwd, env, detached: true, stdio });
  await once(child, "spawn").catch((error: unknown) => {
    throw missing(program, error, cwd);
  });
  child.unref();
  return child;
}
