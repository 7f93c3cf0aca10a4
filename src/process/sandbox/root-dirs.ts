/**
 * Owns which directories of the machine every sandbox shows completely: those with its programs. /nix is not
 * shown completely, because its daemon listens in it.
 */
import { isWithin } from "../../util/index.ts";
import { type Link, lstatOr, realOr, targetOf } from "./paths.ts";

const CANDIDATES: readonly string[] = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/opt",
  "/nix/store",
  "/nix/var/nix/profiles",
  "/gnu/store",
  "/snap",
  "/home/linuxbrew",
  // What Debian's Ruby, TeX, Haskell and every browser have there.
  "/var/lib/gems",
  "/var/lib/texmf",
  "/var/lib/ghc",
  "/var/cache/fontconfig",
];

export interface RootDirs {
  /** Real paths, none inside another. */
  readonly dirs: readonly string[];
  /** All links that the root has: candidates that are links, and its own. */
  readonly links: readonly Link[];
}

export function rootDirs(): RootDirs {
  const dirs: string[] = [];
  // At their own path: bubblewrap itself goes through them when it mounts something there.
  const links: Link[] = [
    ["../tmp", "/var/tmp"],
    ["../run", "/var/run"],
  ];
  for (const path of CANDIDATES) {
    if (lstatOr(path)?.isSymbolicLink()) links.push([targetOf(path), path]);
    const real = realOr(path);
    if (real !== undefined && real !== "/" && !dirs.some((dir) => isWithin(dir, real))) dirs.push(real);
  }
  return { dirs, links };
}
