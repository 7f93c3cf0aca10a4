/**
 * Owns who the processes of a task are. Started by an ordinary user, they are that user. Started by root, they are the
 * owner of the repo, or, where that is root too, a user that has nothing else on this machine.
 *
 * Q6 No process of a task is root, and what it may write belongs to its own user.
 */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { isWithin } from "../../util/index.ts";
import { realOr, statOr } from "./paths.ts";
import { rootDirs } from "./root-dirs.ts";

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

/** What the program below, its loader and its libraries are read from, while it is still root. */
const READ_BY_ROOT = [
  ...["/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"],
  ...["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib"],
];

/**
 * The words that make a command theirs for good. It starts as root, without any power but that of changing its user:
 * so nothing that it reads until then may be a file of the task's, which stand at `at`.
 */
export function becoming({ uid, gid }: TaskUser, at: string): string[] {
  if (READ_BY_ROOT.some((dir) => isWithin(dir, at) || isWithin(at, dir)))
    throw new HoldfastError("sandbox_missing", `root can make no sandbox for files in ${at}`, { path: at });
  const none = ["--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"];
  return [setpriv(at), "--reuid", String(uid), "--regid", String(gid), "--clear-groups", ...none, "--"];
}

/** By its whole path: in a directory on PATH that lies among the task's files, another program could have its name. */
function setpriv(at: string): string {
  const { dirs } = rootDirs();
  const path = [...(process.env["PATH"] ?? "").split(":"), "/usr/bin", "/bin"];
  for (const dir of path) {
    const real = dir.startsWith("/") ? realOr(dir) : undefined;
    if (real === undefined || isWithin(at, real)) continue;
    const program = join(real, "setpriv");
    if (statOr(program)?.isFile() && dirs.some((shown) => isWithin(shown, program))) return program;
  }
  throw new HoldfastError("sandbox_missing", "setpriv is not installed, so root can make no sandbox");
}
