/**
 * The built command, run in a directory.
 */
import { execFile } from "node:child_process";
import { type CliResult, cliPath } from "./cli.ts";

export function runCliIn(
  cwd: string,
  home: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<CliResult> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [cliPath, ...args],
      { cwd, env: { ...process.env, HOLDFAST_HOME: home, NO_COLOR: "1", ...env } },
      (_error, stdout, stderr) => resolve({ status: child.exitCode, stdout, stderr }),
    );
  });
}
