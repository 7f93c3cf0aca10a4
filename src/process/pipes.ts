/**
 * Owns the pipes between us and the streams of a command. Node would make sockets, which programs can't open
 * again as /dev/stdout or /dev/stderr, and which belong to the machine's network, whatever sandbox the command
 * is in (sandbox-3).
 *
 * Node has no call for a pipe. But a shell makes one for each here-document, and whoever may look at a process
 * can open its pipes. Where the shell makes files of them instead, commands get Node's sockets.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, fchmodSync, fstatSync, openSync, readSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { onlyStdio } from "./descriptors.ts";
import { programPath } from "./outside-program.ts";

const { O_RDONLY, O_WRONLY, O_RDWR, O_NONBLOCK } = constants;
/** For two commands. */
const MADE_AT_ONCE = 6;
/** Shells have digits for descriptors, and the first three are taken. */
const FIRST = 3;
/** Some shells make no pipe for an empty document. */
const CONTENT = "x\n";
/** The user of a command may be another one, and may open its own streams again. */
const MODE = 0o666;

/** Open for both directions, and empty. */
const spare: number[] = [];
let making: Promise<boolean> | undefined;

/** So that the first command need not wait for them. */
export function preparePipes(): void {
  if (spare.length < MADE_AT_ONCE) make();
}

export interface CommandPipes {
  /** What the command gets. */
  readonly stdio: readonly ("ignore" | "pipe" | number)[];
  /** Our ends, once the command has its own or could not be started. */
  of(child: ChildProcess): CommandStreams;
}

export interface CommandStreams {
  readonly input: Writable | null;
  readonly outputs: readonly [stdout: Readable, stderr: Readable];
}

export async function openPipes({ hasInput }: { readonly hasInput: boolean }): Promise<CommandPipes> {
  const pipes = await take(hasInput ? 3 : 2);
  if (!pipes) return socketsOfNode(hasInput);
  const [stdout = 0, stderr = 0, stdin] = pipes;
  // Blocking ones for the command: most programs expect that.
  const theirs = [
    ...(stdin === undefined ? [] : [open(stdin, O_RDONLY)]),
    ...[stdout, stderr].map((pipe) => open(pipe, O_WRONLY)),
  ];
  const read = (pipe: number) => new Socket({ fd: open(pipe, O_RDONLY | O_NONBLOCK) });
  const streams: CommandStreams = {
    input:
      stdin === undefined ? null : new Socket({ fd: open(stdin, O_WRONLY | O_NONBLOCK), readable: false }),
    outputs: [read(stdout), read(stderr)],
  };
  closeAll(pipes);
  return {
    stdio: hasInput ? theirs : ["ignore", ...theirs],
    of: () => {
      closeAll(theirs);
      return streams;
    },
  };
}

const socketsOfNode = (hasInput: boolean): CommandPipes => ({
  stdio: [hasInput ? "pipe" : "ignore", "pipe", "pipe"],
  of: ({ stdin, stdout, stderr }) => ({ input: stdin, outputs: [stdout as Readable, stderr as Readable] }),
});

const open = (pipe: number, flags: number) => openSync(`/proc/self/fd/${pipe}`, flags);

function closeAll(fds: number[]): void {
  for (const fd of fds.splice(0)) closeSync(fd);
}

async function take(count: number): Promise<number[] | undefined> {
  while (spare.length < count) if (!(await make())) return undefined;
  return spare.splice(-count);
}

/** Whether there are more now. */
function make(): Promise<boolean> {
  making ??= makeSome()
    .catch(() => false)
    .finally(() => {
      making = undefined;
    });
  return making;
}

async function makeSome(): Promise<boolean> {
  const numbers = Array.from({ length: MADE_AT_ONCE }, (_, index) => FIRST + index);
  const script = `exec ${numbers.map((fd) => `${fd}<<E`).join(" ")}\n${numbers.map(() => `${CONTENT}E\n`).join("")}echo; read word`;
  const shell = spawn(programPath("sh"), ["-c", script], {
    env: {},
    stdio: onlyStdio(["pipe", "pipe", "ignore"]),
  });
  const ended = once(shell, "exit").catch(() => {});
  try {
    if (shell.stdout) await Promise.race([once(shell.stdout, "data"), ended]);
    for (const fd of numbers) spare.push(...pipeOf(shell.pid ?? 0, fd));
  } finally {
    shell.kill("SIGKILL");
    await ended;
  }
  return spare.length > 0;
}

/** Without what the shell wrote to it. Empty if it is no pipe. */
function pipeOf(pid: number, fd: number): number[] {
  const pipe = openSync(`/proc/${pid}/fd/${fd}`, O_RDWR | O_NONBLOCK);
  if (!fstatSync(pipe).isFIFO()) {
    closeSync(pipe);
    return [];
  }
  fchmodSync(pipe, MODE);
  readSync(pipe, Buffer.alloc(CONTENT.length));
  return [pipe];
}
