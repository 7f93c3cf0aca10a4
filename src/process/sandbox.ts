/**
 * Owns the bubblewrap driver: what a task's process sees of the machine. Its capsule stands at the main
 * checkout's own path; the rest is read-only; the home of all sessions is not there; and every process in it
 * dies with ours.
 *
 * Q3 Nothing outside the capsule and the task's own directories can be written, the kernel's settings included.
 * Q2 No process that was started in the sandbox outlives the one that started it.
 */
import { existsSync, realpathSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { HoldfastError } from "../contract/index.ts";
import { findProgram } from "./find-program.ts";
import { runProgram } from "./program.ts";

export interface SandboxView {
  /** The capsule's files, as seen from where bubblewrap starts. */
  readonly tree: string;
  /** Where they stand inside. */
  readonly at: string;
  /** The directory of them that is started in. Default: the top. */
  readonly cwd?: string;
  /** Read-only and at their own path, as far as nothing of it is hidden. */
  readonly borrowed: readonly string[];
  /** Empty inside, but for what is bound below it. */
  readonly hidden: readonly string[];
  /** From → where it stands inside, read-only. */
  readonly readable: readonly (readonly [string, string])[];
  /** Writable, and at their own path. */
  readonly writable: readonly string[];
  /** The capsule's files can only be read. */
  readonly isReadOnly?: boolean;
}

export function assertSandbox(): void {
  if (findProgram("bwrap")) return;
  throw new HoldfastError(
    "sandbox_missing",
    "bubblewrap is not installed, so nothing can be run in a sandbox",
  );
}

let trying: Promise<boolean> | undefined;

/** Whether a sandbox can be made here: tried, once. A kernel may forget to allow what the program needs. */
export function canSandbox(): Promise<boolean> {
  trying ??= trySandbox();
  return trying;
}

async function trySandbox(): Promise<boolean> {
  if (!findProgram("bwrap")) return false;
  const view = { tree: "/", at: "/", borrowed: [], hidden: [], readable: [], writable: [], isReadOnly: true };
  const env = { PATH: process.env["PATH"] ?? "" };
  return (await runProgram([...sandboxed(view), "true"], { env, timeoutMs: 10_000 })).exitCode === 0;
}

/** The words that go before the command. */
export function sandboxed(view: SandboxView): string[] {
  const args = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session"];
  if (process.getuid?.() === 0) args.push("--cap-drop", "ALL");
  args.push(
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    ...scratch("/dev/shm"),
    "--remount-ro",
    "/dev",
    "--proc",
    "/proc",
    ...kernelControls(),
    ...scratch("/tmp"),
    ...withoutSockets(),
  );
  for (const path of view.borrowed) args.push("--ro-bind", path, path);
  // Behind everything that somebody else has named: nothing uncovers what is hidden here but what we bind ourselves.
  for (const path of view.hidden) args.push("--tmpfs", path);
  for (const [from, to] of view.readable) args.push("--ro-bind", from, to);
  for (const path of view.writable) args.push("--bind", path, path);
  const start = view.cwd === undefined ? view.at : join(view.at, view.cwd);
  args.push(view.isReadOnly ? "--ro-bind" : "--bind", view.tree, view.at, "--chdir", start);
  // What was made empty to stand things in is not a place to write to.
  for (const path of view.hidden) args.push("--remount-ro", path);
  return ["bwrap", ...args, "--"];
}

/** What is kept in memory is bounded: it is nobody's file, so no quota sees it. */
function scratch(path: string): string[] {
  return ["--size", String(Math.min(MAX_SCRATCH_BYTES, Math.floor(totalmem() / 4))), "--tmpfs", path];
}

const MAX_SCRATCH_BYTES = 1024 * 1024 * 1024;

/**
 * /run is where the services of the machine and of the user listen, the user's own among them, who would do whatever
 * they are told: a read-only file system keeps nobody from connecting. Of it all, only the name servers' addresses.
 */
function withoutSockets(): string[] {
  if (!existsSync("/run")) return [];
  const resolver = realpathOr("/etc/resolv.conf");
  const back = resolver?.startsWith("/run/") ? ["--ro-bind", resolver, resolver] : [];
  return ["--tmpfs", "/run", ...back, "--remount-ro", "/run"];
}

function realpathOr(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** Files of /proc that change the machine for everybody: root may write them, with or without capabilities. */
function kernelControls(): string[] {
  const covered = existsSync("/proc/sysrq-trigger") ? ["--ro-bind", "/dev/null", "/proc/sysrq-trigger"] : [];
  return ["--ro-bind", "/proc/sys", "/proc/sys", ...covered];
}
