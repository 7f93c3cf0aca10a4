/**
 * Owns reading `tasks/` in a session's directory: which tasks have left something there, and where it is.
 */
import { readdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CapsuleDir, layerDirsOf } from "../../capsule/index.ts";
import type { Home } from "../../home/index.ts";
import {
  actingDir,
  actionsDir,
  artifactsDir,
  capsuleDir,
  readProcessFile,
  scratchDir,
  tasksDir,
  verifyDir,
} from "../../util/index.ts";

/** The numbers of the tasks, in no particular order. */
export async function taskNumbersIn(sessionDir: string): Promise<number[]> {
  const names = await readdir(tasksDir(sessionDir)).catch(() => []);
  return names.map(Number).filter(Number.isInteger);
}

/**
 * The directories for the capsules of a session's tasks, and for those of their checks and actions, existing
 * or not.
 */
export async function capsuleDirsOf(sessionDir: string): Promise<string[]> {
  const tasks = await taskNumbersIn(sessionDir);
  return tasks.flatMap((task) => [capsuleDir, verifyDir, actingDir].map((dirOf) => dirOf(sessionDir, task)));
}

/** Whether it is the capsule of checks or of an action, which exists only while they run. */
export const isForAMoment = (dir: string) =>
  [verifyDir, actingDir].some((dirOf) => basename(dir) === basename(dirOf("", 1)));

/** The ending of the file by which the worker of an action shows that it is there. */
export const WORKER_SUFFIX = ".worker";

/** Whether an action runs in the task of this capsule. Its worker outlives the session process. */
export function hasWorker(capsule: string): boolean {
  const actions = join(dirname(capsule), basename(actionsDir("", 1)));
  let names: string[];
  try {
    names = readdirSync(actions);
  } catch {
    return false;
  }
  return names.some((name) => name.endsWith(WORKER_SUFFIX) && readProcessFile(join(actions, name)));
}

/** The directories of a session's tasks, existing or not. */
export interface TaskDirs {
  /** Including TMPDIR. */
  readonly capsules: readonly string[];
  /**
   * The sealed layers under the capsules. They are outside of the session's directory, and others may use
   * them too.
   */
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
      actingDir(sessionDir, task),
    ]),
    layers: [...new Set(specs.flatMap((spec) => (spec ? layerDirsOf(home.dir, spec) : [])))],
    artifacts: tasks.map((task) => artifactsDir(sessionDir, task)),
  };
}
