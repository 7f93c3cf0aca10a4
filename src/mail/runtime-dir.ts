/**
 * Owns the place of sockets: a short directory of one's own, because the path of a socket has 107 bytes at most.
 * Nothing in it matters after a restart.
 */
import { lstatSync, mkdirSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { HoldfastError } from "../contract/index.ts";
import { errorCode, sha256Hex } from "../util/index.ts";

/** Of all homes of this user. */
export function runtimeRoot(): string {
  const uid = process.getuid?.() ?? 0;
  const given = process.env["XDG_RUNTIME_DIR"];
  return given?.startsWith("/") && given.length < 40 && isMine(given, uid)
    ? join(given, "holdfast")
    : `/tmp/holdfast-${uid}`;
}

/** Of one session: its sockets are in here. */
export function makeRuntimeDir(homeDir: string, session: string): string {
  const root = runtimeRoot();
  const home = join(root, sha256Hex(homeDir).slice(0, 12));
  const dir = join(home, session.slice("sess_".length));
  for (const path of [root, home, dir]) makeOwn(path);
  return dir;
}

/** Of what serves a whole home. */
export function makeHomeRuntimeDir(homeDir: string): string {
  const root = runtimeRoot();
  const home = join(root, sha256Hex(homeDir).slice(0, 12));
  for (const path of [root, home]) makeOwn(path);
  return home;
}

export function removeRuntimeDir(dir: string): void {
  rmSync(dir, { recursive: true, force: true });
  try {
    rmdirSync(dirname(dir));
  } catch {
    // Others are there.
  }
}

function makeOwn(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  // In /tmp somebody else may have been there first.
  if (!isMine(path, process.getuid?.() ?? 0))
    throw new HoldfastError("unsafe_permissions", `${path} is not a directory of yours alone`, { path });
}

function isMine(path: string, uid: number): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.uid === uid && (stat.mode & 0o077) === 0;
}
