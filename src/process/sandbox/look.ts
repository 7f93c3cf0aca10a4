/**
 * Owns the search in what a sandbox shows for what must be hidden there: credentials, other Holdfast homes,
 * sockets and pipes. A read-only mount does not keep a process from connecting to a socket or writing into a
 * pipe.
 *
 * The search is bounded, the upper levels first, because credentials of tools are near the top. It reports
 * the places where it did not see everything within its depth. Sockets are found wherever they are, because
 * the kernel lists them.
 */
import type { Dirent } from "node:fs";
import { basename, join } from "node:path";
import { homeManifestPath, isWithin, readTextOr, sessionsDir } from "../../util/index.ts";
import { isCredentialFile } from "./credentials.ts";
import { entriesOf, lstatOr, realOr } from "./paths.ts";

/** For each place. */
const MAX_DIRS = 256;
const MAX_DEPTH = 3;
/**
 * Each one makes every command slower. Beyond this number, a directory that contains one is covered as a
 * whole.
 */
const MAX_COVERED = 64;
/** Directories of programs and packages: many files, and none of them the user's own. */
const PACKAGES = new Set([
  ...["bin", "sbin", "shims", ".bin", "lib", "lib64", "libexec", "include", "share", "man", "doc", "docs"],
  ...["node_modules", "site-packages", "registry", "toolchains", "installs", "pkgs", "mod", "store", "cache"],
  "objects",
]);

export const isOfPackages = (path: string) => PACKAGES.has(basename(path));

export interface Left {
  /** Files that the user names are meant to be seen. */
  isNamed(file: string): boolean;
  /** Nothing can be seen in these directories. */
  isCovered(dir: string): boolean;
}

export interface Look {
  /** Real paths. */
  readonly hidden: readonly string[];
  /** Places that have more directories than were looked into. */
  readonly unfinished: readonly string[];
}

export function findHidden(places: readonly string[], left: Left): Look {
  const hidden: string[] = [];
  const unfinished = places.filter((place) => !lookInto(place, left, hidden));
  return { hidden, unfinished };
}

/** Returns whether all of it was seen. */
function lookInto(place: string, { isNamed, isCovered }: Left, hidden: string[]): boolean {
  let level = [place];
  let left = MAX_DIRS;
  for (let depth = 1; depth <= MAX_DEPTH; depth += 1) {
    const next: string[] = [];
    for (const dir of level) {
      if (left-- <= 0) return false;
      const entries = entriesOf(dir);
      const files = entries.filter((entry) => {
        const path = join(dir, entry.name);
        return !entry.isDirectory() && isHiddenFile(path, entry) && !isNamed(path);
      });
      if (isHome(entries) || (files.length > 0 && hidden.length + files.length > MAX_COVERED)) {
        hidden.push(dir);
        continue;
      }
      hidden.push(...files.map(({ name }) => join(dir, name)));
      if (isOfPackages(dir) && !isNamed(dir)) continue;
      const below = entries.filter((entry) => entry.isDirectory() && !isOfPackages(entry.name));
      next.push(...below.map(({ name }) => join(dir, name)).filter((path) => !isCovered(path)));
    }
    level = next;
  }
  return true;
}

function isHiddenFile(path: string, entry: Dirent): boolean {
  if (entry.isFile()) return isCredentialFile(path, entry.name);
  return entry.isSocket() || entry.isFIFO();
}

const HOME_NAMES = [homeManifestPath, sessionsDir].map((pathIn) => basename(pathIn("/")));

export const isHome = (entries: readonly Dirent[]) =>
  HOME_NAMES.every((wanted) => entries.some(({ name }) => name === wanted));

/** Real paths of the sockets that any program in our network namespace listens on. */
export function findSockets(dirs: readonly string[]): string[] {
  const lines = readTextOr("/proc/net/unix", "").split("\n").slice(1);
  // The path comes after seven fields. An abstract socket begins with `@`.
  const paths = lines.flatMap((line) => /^(?:\S+\s+){6}\d+ (\/.*)$/.exec(line)?.[1] ?? []);
  const real = [...new Set(paths)].flatMap((path) => realOr(path) ?? []);
  return real.filter((path) => dirs.some((dir) => isWithin(dir, path)) && lstatOr(path)?.isSocket());
}
