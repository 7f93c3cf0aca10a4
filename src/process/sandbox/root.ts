/**
 * Owns the root of a sandbox: the machine's programs and settings, read-only, and for the rest directories that are
 * the sandbox's own. Nothing of any user's home is in it, and no socket of the machine's: /run is empty.
 *
 * Q8 A sandbox shows the machine's programs, the settings that everybody may read, and what it was given. It can
 *    write into its own directories alone.
 */
import { existsSync } from "node:fs";
import { totalmem } from "node:os";
import { etcSecrets } from "./etc.ts";
import type { UserIds } from "./identity.ts";
import { cover, madeDir, parentDirs } from "./mounts.ts";
import { rootDirs } from "./root-dirs.ts";

const MAX_SCRATCH_BYTES = 1024 * 1024 * 1024;
/** How many processors there are, and whose memory is near: runtimes ask. */
const SYS = ["/sys/devices/system/cpu", "/sys/devices/system/node"];

/** For a task's user. `--remount-ro /` goes behind everything that is mounted after it. */
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

/** What is kept in memory is bounded: it is no session's file, so no quota sees it. */
function scratch(path: string): string[] {
  const bytes = Math.min(MAX_SCRATCH_BYTES, Math.floor(totalmem() / 4));
  return ["--perms", "1777", "--size", String(bytes), "--tmpfs", path];
}

/** Files of /proc that change the machine for everybody, and those that name keys, which belong to no sandbox. */
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
