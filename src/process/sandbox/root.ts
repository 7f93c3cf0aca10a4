/**
 * Owns the root of a sandbox: the machine's programs and settings, read-only, and otherwise directories of
 * the sandbox's own. It contains no part of any user's home, and no socket of the machine: /run is empty.
 *
 * view-1 A sandbox shows the machine's programs, the settings that every user may read, and what it was
 *    given. It can write into its own directories alone.
 */
import { existsSync } from "node:fs";
import { totalmem } from "node:os";
import { etcSecrets } from "./etc.ts";
import type { UserIds } from "./identity.ts";
import { cover, madeDir, parentDirs } from "./mounts.ts";
import { rootDirs } from "./root-dirs.ts";

const MAX_SCRATCH_BYTES = 1024 * 1024 * 1024;
/** How many processors there are, and which memory is near to them: runtimes need that. */
const SYS = ["/sys/devices/system/cpu", "/sys/devices/system/node"];

/** For a task's user. `--remount-ro /` comes after everything that is mounted on it. */
export function minimalRoot(user: UserIds): string[] {
  const { dirs, links } = rootDirs();
  const etc = etcSecrets(user).map(cover);
  const sys = SYS.filter((path) => existsSync(path));
  return [
    ...parentDirs([...dirs, ...links.map(([, path]) => path), ...sys]),
    ...dirs.flatMap((dir) => ["--ro-bind", dir, dir]),
    ...["--ro-bind", "/etc", "/etc"],
    ...etc.flatMap(({ show }) => show),
    ...etc.flatMap(({ seal }) => seal),
    ...sys.flatMap((path) => ["--ro-bind", path, path]),
    ...["--proc", "/proc", ...kernelControls()],
    ...["--dev", "/dev", ...scratch("/dev/shm"), "--remount-ro", "/dev"],
    ...scratch("/tmp"),
    ...madeDir("/run"),
    ...links.flatMap(([target, path]) => ["--symlink", target, path]),
  ];
}

/** Files in memory are limited here: they belong to no session's files, so no quota covers them. */
function scratch(path: string): string[] {
  const bytes = Math.min(MAX_SCRATCH_BYTES, Math.floor(totalmem() / 4));
  return ["--perms", "1777", "--size", String(bytes), "--tmpfs", path];
}

/** Files of /proc that change the whole machine, and those that list keys, which belong to no sandbox. */
function kernelControls(): string[] {
  const covered = ["sysrq-trigger", "keys", "key-users"].map((name) => `/proc/${name}`);
  const there = covered.filter((path) => existsSync(path));
  return [
    "--ro-bind",
    "/proc/sys",
    "/proc/sys",
    ...there.flatMap((path) => ["--ro-bind", "/dev/null", path]),
  ];
}
