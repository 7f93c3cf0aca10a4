/**
 * Owns the check that a capsule has the directory in which a command is to start. Links are not followed
 * here: only the sandbox knows where they lead.
 */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";

export function assertDirectory(root: string, cwd: string): void {
  let path = root;
  for (const name of cwd.split("/")) {
    path = join(path, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink()) return;
    if (!stats?.isDirectory()) throw directoryMissing(cwd);
  }
}

export function directoryMissing(cwd: string): HoldfastError {
  return new HoldfastError("directory_missing", `the task's files have no directory ${cwd}`, { cwd });
}
