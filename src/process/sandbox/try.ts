/**
 * Owns the answer to "can a sandbox be made here?": tried, once, as it will be used.
 */
import { HoldfastError } from "../../contract/index.ts";
import { findProgram } from "../find-program.ts";
import { runProgram } from "../program.ts";
import { launch } from "./launch.ts";
import { plainSandbox } from "./sandbox.ts";
import { taskUser } from "./user.ts";

export function assertSandbox(): void {
  if (findProgram("bwrap")) return;
  throw new HoldfastError(
    "sandbox_missing",
    "bubblewrap is not installed, so nothing can be run in a sandbox",
  );
}

let trying: Promise<boolean> | undefined;

/** A kernel may not allow what the program needs. */
export function canSandbox(): Promise<boolean> {
  trying ??= trySandbox().catch(() => false);
  return trying;
}

async function trySandbox(): Promise<boolean> {
  if (!findProgram("bwrap")) return false;
  const sandbox = plainSandbox("/tmp/tried", taskUser("/"));
  const started = launch(sandbox, {
    command: ["true"],
    tree: "/usr",
    entry: { enter: [], hasNetwork: false },
    env: { PATH: process.env["PATH"] ?? "" },
    isReadOnly: true,
  });
  return (await runProgram(started.argv, { ...started, timeoutMs: 10_000 })).exitCode === 0;
}
