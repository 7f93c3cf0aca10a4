/**
 * Owns the place of sockets: a short directory for each home, because the path of a socket has at most 107
 * bytes. It is below /tmp, which a sandbox never shows, under a name that no other user could have taken
 * before; the home names it. Nothing in it matters after a restart.
 */
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { errorCode, readTextOr, runtimePath, temporaryPath } from "../util/index.ts";

const PREFIX = "/tmp/holdfast-";

/** The directory of a whole home. */
export function makeHomeRuntimeDir(homeDir: string): string {
  const path = runtimePath(homeDir);
  for (;;) {
    const known = readTextOr(path, "").trim();
    // After a restart it is made again, under the name that no other user knows.
    if (known.startsWith(PREFIX) && (isMine(known) || isMade(known))) return known;
    const made = mkdtempSync(PREFIX);
    if (isNamed(path, made, { over: known !== "" })) return made;
    // Another process was first.
    rmdirSync(made);
  }
}

function isNamed(path: string, made: string, { over }: { readonly over: boolean }): boolean {
  const temporary = temporaryPath(path);
  writeFileSync(temporary, `${made}\n`, { mode: 0o600, flag: "wx" });
  try {
    if (over) renameSync(temporary, path);
    else linkSync(temporary, path);
    return true;
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    return false;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function isMade(dir: string): boolean {
  try {
    mkdirSync(dir, { mode: 0o700 });
    return true;
  } catch {
    return false;
  }
}

/** The directory of one session: its sockets are in here. */
export function makeRuntimeDir(homeDir: string, session: string): string {
  const dir = join(makeHomeRuntimeDir(homeDir), session.slice("sess_".length));
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return dir;
}

export function removeRuntimeDir(dir: string): void {
  rmSync(dir, { recursive: true, force: true });
}

/** The one that a home has now, if it has one. */
export function findHomeRuntimeDir(homeDir: string): string | undefined {
  const known = readTextOr(runtimePath(homeDir), "").trim();
  return known.startsWith(PREFIX) && isMine(known) ? known : undefined;
}

function isMine(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0;
}
