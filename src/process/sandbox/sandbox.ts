/**
 * Owns the one value that says what a process of a task may see, write, reach and use. It is resolved once per task, and
 * given to everything that starts a process for it.
 */
import type { CgroupShare } from "../cgroup.ts";
import type { ProcessLimits } from "../limits.ts";
import { noTools, type Tools } from "./tools.ts";
import type { TaskUser } from "./user.ts";

export interface Sandbox {
  /** Where the capsule's files stand inside. */
  readonly at: string;
  /** The capsule's files can only be read. */
  readonly isReadOnly: boolean;
  /** Shown read-only, at their own path. */
  readonly borrowed: readonly string[];
  /** From → where it stands inside, read-only. */
  readonly readable: readonly (readonly [string, string])[];
  /** Empty inside, but for what is bound below it. */
  readonly hidden: readonly string[];
  /** What it needs of the machine and of the user's home to run programs. */
  readonly tools: Tools;
  /** Undefined: our own user. */
  readonly user: TaskUser | undefined;
  /** What the kernel keeps each of its processes from taking. */
  readonly limits: ProcessLimits;
  /** And all of them together, where a cgroup can be had. */
  readonly cgroup: CgroupShare | undefined;
}

/** Of files alone: no tools but the system's, and no limits. */
export function plainSandbox(at: string, user: TaskUser | undefined): Sandbox {
  const nothing = { borrowed: [], readable: [], hidden: [], tools: noTools, limits: {}, cgroup: undefined };
  return { at, user, isReadOnly: false, ...nothing };
}
