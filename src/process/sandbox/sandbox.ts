/**
 * Owns the one value that describes what a process of a task may see, write, reach and use. It is made once
 * per task, and passed to everything that starts a process for the task.
 */
import type { CgroupShare } from "../cgroup.ts";
import type { ProcessLimits } from "../limits.ts";
import { noTools, type Tools } from "./tools.ts";
import type { TaskUser } from "./user.ts";

export interface Sandbox {
  /** The path of the capsule's files inside. */
  readonly at: string;
  /** The capsule's files can only be read. */
  readonly isReadOnly: boolean;
  /** Shown read-only, at their own path. */
  readonly borrowed: readonly string[];
  /** From → its path inside, read-only. */
  readonly readable: readonly (readonly [string, string])[];
  /** Empty inside, except for what is bound below it. */
  readonly hidden: readonly string[];
  /** The files of the machine and of the user's home that it needs to run programs. */
  readonly tools: Tools;
  /** Undefined: our own user. */
  readonly user: TaskUser | undefined;
  /** The limits that the kernel enforces for each of its processes. */
  readonly limits: ProcessLimits;
  /** The limits for all of them together, if a cgroup can be made. */
  readonly cgroup: CgroupShare | undefined;
}

/** For files alone: only the system's tools, and no limits. */
export function plainSandbox(at: string, user: TaskUser | undefined): Sandbox {
  const nothing = { borrowed: [], readable: [], hidden: [], tools: noTools, limits: {}, cgroup: undefined };
  return { at, user, isReadOnly: false, ...nothing };
}
