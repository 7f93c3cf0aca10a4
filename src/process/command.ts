/**
 * Owns the running of a task's command: its output as it comes, and its end, which is the end of all it started
 * in its process group.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import type { Duplex, Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { readTextOr, signalIfThere } from "../util/index.ts";
import { onlyStdio } from "./descriptors.ts";
import { missing } from "./program.ts";
import { treeOf } from "./tree.ts";

export interface CommandOptions {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Both streams, as they come. While it is at work on one of them, no more of that stream is read. */
  readonly onOutput: (chunk: Buffer, stream: "stdout" | "stderr") => void | Promise<void>;
  readonly onStart?: (pid: number, input: Writable | null) => void | Promise<void>;
  /** Whether it has a standard input, which `onStart` is given. */
  readonly hasInput?: boolean;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
  /** Of ours; it has them as 3 and up. */
  readonly descriptors?: readonly number[];
  /** Called when it has them, or could not be started. */
  readonly close?: () => void;
}

export interface CommandEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Because it was asked to end. */
  readonly isStopped: boolean;
}

/** How long it may take to end by itself when it is asked to. */
const GRACE_MS = 2000;
/** How long output may still come after the end: somebody else may hold the pipe open. */
const DRAIN_MS = 1000;

export async function runCommand(options: CommandOptions): Promise<CommandEnd> {
  const [program = "", ...args] = options.argv;
  // A group of its own: a Ctrl-C at the terminal is ours to hand on, and ends all of it.
  const child: ChildProcess = spawn(program, args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: onlyStdio([options.hasInput ? "pipe" : "ignore", "pipe", "pipe", ...(options.descriptors ?? [])]),
  });
  options.close?.();
  // It may have closed it; that is no failure of ours.
  child.stdin?.on("error", () => {});
  const letAllCome = [
    readPaced(child.stdout, (chunk) => options.onOutput(chunk, "stdout")),
    readPaced(child.stderr, (chunk) => options.onOutput(chunk, "stderr")),
  ];
  const end = () => endGroup(child);
  let grace: NodeJS.Timeout | undefined;
  const stop = () => {
    askToEnd(child);
    grace = setTimeout(end, GRACE_MS);
  };
  const exited = once(child, "exit");
  const closed = once(child, "close").catch(() => {});
  exited.catch(() => {});
  options.signal?.addEventListener("abort", stop, { once: true });
  try {
    await once(child, "spawn").catch((error: unknown) => {
      throw missing(program, error, options.cwd);
    });
    if (options.signal?.aborted) stop();
    await started(child, options, end);
    await exited;
    // Asked to stop while it ran, not after it had ended by itself.
    const isStopped = options.signal?.aborted ?? false;
    end();
    // What is left is no more than a pipe holds.
    for (const letCome of letAllCome) letCome();
    await Promise.race([closed, sleep(DRAIN_MS, undefined, { ref: false })]);
    return { exitCode: child.exitCode, signal: child.signalCode, isStopped };
  } finally {
    options.signal?.removeEventListener("abort", stop);
    clearTimeout(grace);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  }
}

/** At the pace of its reader: what writes faster waits, and not in our memory. The returned function ends that. */
function readPaced(stream: Readable | null, read: (chunk: Buffer) => void | Promise<void>): () => void {
  let isPaced = true;
  stream?.on("data", (chunk: Buffer) => {
    const reading = read(chunk);
    if (!reading || !isPaced) return;
    stream.pause();
    const goOn = () => stream.resume();
    reading.then(goOn, goOn);
  });
  return () => {
    isPaced = false;
    stream?.resume();
  };
}

/** Nothing runs that is not on record. */
async function started(child: ChildProcess, { onStart }: CommandOptions, end: () => void): Promise<void> {
  try {
    await onStart?.(child.pid ?? 0, child.stdin);
  } catch (error) {
    end();
    throw error;
  }
}

/** What only stands around the command would take it along, before it could say goodbye. */
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

/** Starts something that goes on after us, in a session of its own. Resolves to its pid when it has been started. */
export async function startDetached(argv: readonly string[], options: DetachedOptions): Promise<number> {
  return (await spawnDetached(argv, options, ({ out }) => ["ignore", out, out])).pid ?? 0;
}

/** The same, with its input from us, which ends there, and its output to us. Only its complaints go to the log. */
export async function startFed(
  argv: readonly string[],
  { input, ...options }: DetachedOptions & { readonly input: string },
): Promise<Readable> {
  const child = await spawnDetached(argv, options, ({ out }) => ["pipe", "pipe", out]);
  // It may end without reading it.
  child.stdin?.on("error", () => {}).end(input);
  return child.stdout as Readable;
}

export interface Connected {
  readonly pid: number;
  /** Its other end is descriptor `CONNECTION_FD` of the process, which hands it on to nothing that it starts. */
  readonly connection: Duplex;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
}

/** The first one behind a process's own streams. */
export const CONNECTION_FD = 3;

/** The same, with a connection between it and us for as long as both live. Nothing of it keeps us from ending. */
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
