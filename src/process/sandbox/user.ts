/**
 * Owns who the processes of a task are. Started by an ordinary user, they are that user. Started by root, they are the
 * owner of the repo, or, where that is root too, a user that has nothing else on this machine.
 *
 * Q6 No process of a task is root, and what it may write belongs to its own user.
 */
import { lstatSync } from "node:fs";

export interface TaskUser {
  readonly uid: number;
  readonly gid: number;
}

/** No other program has a reason to use it: it lies between the ranges that Debian and systemd give out. */
const NOBODY_ELSE = 60_700;

/** Undefined: ours. `path`: what its owner has of the repo. */
export function taskUser(path: string): TaskUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = lstatSync(path);
  return uid === 0 ? { uid: NOBODY_ELSE, gid: NOBODY_ELSE } : { uid, gid };
}

/** The words that make a command theirs for good. It starts as root, without any power but that of changing its user. */
export function becoming({ uid, gid }: TaskUser): string[] {
  const none = ["--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"];
  return ["setpriv", "--reuid", String(uid), "--regid", String(gid), "--clear-groups", ...none, "--"];
}
