/**
 * Owns the look into what a sandbox shows, for what must not be seen there: credentials, other Holdfast homes, and
 * whatever can be spoken to. A read-only mount keeps no process from connecting to a socket, or writing into a pipe.
 *
 * The look is bounded, the upper levels first: credentials of tools lie near the top. Sockets are found wherever they
 * are, because the kernel lists them.
 */
import type { Dirent } from "node:fs";
import { basename, join } from "node:path";
import { homeManifestPath, isWithin, readTextOr, sessionsDir } from "../../util/index.ts";
import { isCredentialFile } from "./credentials.ts";
import { entriesOf, lstatOr, realOr } from "./paths.ts";

const MAX_DIRS = 64;
const MAX_DEPTH = 3;
const MAX_COVERED = 64;
const MAX_SOCKETS = 1000;
/** Directories of programs and packages: many files, and none of them the user's own. */
const PACKAGES = new Set([
  ...["bin", "sbin", "shims", ".bin", "lib", "lib64", "libexec", "include", "share", "man", "doc", "docs"],
  ...["node_modules", "site-packages", "registry", "toolchains", "installs", "pkgs", "mod", "store", "cache"],
  ...["src", "test", "tests", ".git", ".github"],
]);

export interface Left {
  /** Files that the user names are meant to be seen. */
  isNamed(file: string): boolean;
  /** Nothing can be seen in these directories. */
  isCovered(dir: string): boolean;
}

/** Real paths below these directories. */
export function findHidden(dirs: readonly string[], { isNamed, isCovered }: Left): string[] {
  const found: string[] = [];
  let level = [...dirs];
  let left = MAX_DIRS;
  for (let depth = 1; depth <= MAX_DEPTH && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const dir of level) {
      if (left-- <= 0 || found.length >= MAX_COVERED) return found;
      const entries = entriesOf(dir);
      if (isHome(entries)) {
        found.push(dir);
        continue;
      }
      for (const entry of entries) {
        const path = join(dir, entry.name);
        if (entry.isDirectory()) {
          const isOfPackages = PACKAGES.has(entry.name) || PACKAGES.has(basename(dir));
          if (!isOfPackages && !isCovered(path)) next.push(path);
        } else if (isHiddenFile(path, entry) && !isNamed(path)) found.push(path);
      }
    }
    level = next;
  }
  return found;
}

function isHiddenFile(path: string, entry: Dirent): boolean {
  if (entry.isFile()) return isCredentialFile(path, entry.name);
  return entry.isSocket() || entry.isFIFO();
}

const HOME_NAMES = [homeManifestPath, sessionsDir].map((pathIn) => basename(pathIn("/")));

const isHome = (entries: readonly Dirent[]) =>
  HOME_NAMES.every((wanted) => entries.some(({ name }) => name === wanted));

/** Real paths of those that anything in our network namespace listens on. */
export function findSockets(dirs: readonly string[]): string[] {
  const lines = readTextOr("/proc/net/unix", "").split("\n").slice(1);
  // The path is what comes behind seven fields; an abstract one begins with `@`.
  const paths = lines.flatMap((line) => /^(?:\S+\s+){6}\d+ (\/.*)$/.exec(line)?.[1] ?? []);
  const real = [...new Set(paths)].slice(0, MAX_SOCKETS).flatMap((path) => realOr(path) ?? []);
  return real.filter((path) => dirs.some((dir) => isWithin(dir, path)) && lstatOr(path)?.isSocket());
}
