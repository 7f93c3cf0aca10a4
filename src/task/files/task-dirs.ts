/**
 * Owns the reading of `tasks/` in a session's directory: which tasks have left something there, and where all of it is.
 */
import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import { CapsuleDir, layerDirsOf } from "../../capsule/index.ts";
import type { Home } from "../../home/index.ts";
import { artifactsDir, capsuleDir, scratchDir, tasksDir, verifyDir } from "../../util/index.ts";

/** By their numbers, in no order. */
export async function taskNumbersIn(sessionDir: string): Promise<number[]> {
  const names = await readdir(tasksDir(sessionDir)).catch(() => []);
  return names.map(Number).filter(Number.isInteger);
}

/** Where the tasks of a session have their capsules, there or not: their own, and those that their checks run in. */
export async function capsuleDirsOf(sessionDir: string): Promise<string[]> {
  const tasks = await taskNumbersIn(sessionDir);
  return tasks.flatMap((task) => [capsuleDir(sessionDir, task), verifyDir(sessionDir, task)]);
}

/** Whether it is of a capsule that checks run in: it is there only while they do. */
export const isForChecks = (dir: string) => basename(dir) === basename(verifyDir("", 1));

/** The directories of a session's tasks, there or not. */
export interface TaskDirs {
  /** With TMPDIR. */
  readonly capsules: readonly string[];
  /** Sealed layers that the capsules stand on. They lie beside the session's directory, and others may use them too. */
  readonly layers: readonly string[];
  readonly artifacts: readonly string[];
}

export async function taskDirsOf(home: Pick<Home, "dir">, sessionDir: string): Promise<TaskDirs> {
  const tasks = await taskNumbersIn(sessionDir);
  const layouts = tasks.map((task) => new CapsuleDir(capsuleDir(sessionDir, task)));
  const specs = await Promise.all(layouts.map((layout) => layout.readSpec().catch(() => undefined)));
  return {
    capsules: tasks.flatMap((task) => [
      capsuleDir(sessionDir, task),
      scratchDir(sessionDir, task),
      verifyDir(sessionDir, task),
    ]),
    layers: [...new Set(specs.flatMap((spec) => (spec ? layerDirsOf(home.dir, spec) : [])))],
    artifacts: tasks.map((task) => artifactsDir(sessionDir, task)),
  };
}
