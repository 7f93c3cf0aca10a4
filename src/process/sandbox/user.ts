/**
 * Owns which user the processes of a task run as. If an ordinary user starts it, they run as that user. If
 * root starts it, they run as the owner of the repo or, if that is root too, as a user that owns nothing else
 * on this machine.
 *
 * user-1 No process of a task is root, and the files that it may write belong to its own user.
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

/** No other program has a reason to use it: it is between the ranges that Debian and systemd assign. */
const NOBODY_ELSE = 60_700;

/** Undefined: our own. `path`: a path of the repo, whose owner counts. */
export function taskUser(path: string): TaskUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = lstatSync(path);
  return uid === 0 ? { uid: NOBODY_ELSE, gid: NOBODY_ELSE } : { uid, gid };
}

/** The program below, its loader and its libraries are read from here while it is still root. */
const READ_BY_ROOT = [
  ...["/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"],
  ...["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib"],
];

/**
 * The words that make a command run as that user for good. It starts as root, with no capability except
 * changing its user. So nothing that it reads until then may be a file of the task, whose files are at `at`.
 */
export function becoming({ uid, gid }: TaskUser, at: string): string[] {
  if (READ_BY_ROOT.some((dir) => isWithin(dir, at) || isWithin(at, dir)))
    throw new HoldfastError("sandbox_missing", `root can't make a sandbox for files in ${at}`, { path: at });
  const none = ["--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"];
  return [setpriv(at), "--reuid", String(uid), "--regid", String(gid), "--clear-groups", ...none, "--"];
}

/**
 * By its full path: a directory on PATH that is among the task's files could have another program of that
 * name.
 */
function setpriv(at: string): string {
  const { dirs } = rootDirs();
  const path = [...(process.env["PATH"] ?? "").split(":"), "/usr/bin", "/bin"];
  for (const dir of path) {
    const real = dir.startsWith("/") ? realOr(dir) : undefined;
    if (real === undefined || isWithin(at, real)) continue;
    const program = join(real, "setpriv");
    if (statOr(program)?.isFile() && dirs.some((shown) => isWithin(shown, program))) return program;
  }
  throw new HoldfastError("sandbox_missing", "setpriv is not installed, so root can't make a sandbox");
}
