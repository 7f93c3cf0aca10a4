/**
 * Owns the reading of `tasks/` in a session's directory: which tasks have left something there, and where all of it is.
 */
import { readdir } from "node:fs/promises";
import { CapsuleDir, layerDirsOf } from "../../capsule/index.ts";
import type { Home } from "../../home/index.ts";
import { artifactsDir, capsuleDir, scratchDir, tasksDir } from "../../util/index.ts";

/** By their numbers, in no order. */
export async function taskNumbersIn(sessionDir: string): Promise<number[]> {
  const names = await readdir(tasksDir(sessionDir)).catch(() => []);
  return names.map(Number).filter(Number.isInteger);
}

/** Where the tasks of a session have their capsules, there or not. */
export async function capsuleDirsOf(sessionDir: string): Promise<string[]> {
  return (await taskNumbersIn(sessionDir)).map((task) => capsuleDir(sessionDir, task));
}

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
    capsules: tasks.flatMap((task) => [capsuleDir(sessionDir, task), scratchDir(sessionDir, task)]),
    layers: [...new Set(specs.flatMap((spec) => (spec ? layerDirsOf(home.dir, spec) : [])))],
    artifacts: tasks.map((task) => artifactsDir(sessionDir, task)),
  };
}
