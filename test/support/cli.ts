/**
 * The built command, run as a user runs it.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export const cliPath = join(import.meta.dirname, "..", "..", "dist", "cli", "main.js");

export interface CliResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function runCli(
  home: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  /** By default not the directory of the tests, because that is a repo. */
  cwd = existsSync(dirname(home)) ? dirname(home) : tmpdir(),
): Promise<CliResult> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [cliPath, ...args], {
      cwd,
      env: { ...process.env, HOLDFAST_HOME: home, NO_COLOR: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (data: Buffer) => {
      stdout += data.toString();
    });
    child.stderr.on("data", (data: Buffer) => {
      stderr += data.toString();
    });
    child.on("close", (status) => resolve({ status, stdout, stderr }));
  });
}
