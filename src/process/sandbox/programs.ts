/**
 * Owns what a directory of programs needs: the installation that it belongs to, the packages that its links
 * lead to, and versions that a tool keeps elsewhere.
 */
import { basename, dirname, join, resolve } from "node:path";
import { isWithin } from "../../util/index.ts";
import { entriesOf, parentsOf, realOr, statOr, targetOf } from "./paths.ts";
import type { Showing } from "./showing.ts";

const PROGRAM_DIRS = new Set(["bin", "sbin", "shims", ".bin"]);
/** Each of these beside a directory of programs shows that both belong to one installation. */
const PARTS = new Set([
  ...["lib", "lib64", "libexec", "share", "include", "boot", "jmods", "conda-meta"],
  ...["versions", "installs", "candidates", "toolchains", "plugins", "gems", "store", "vendor"],
]);
/** Below the user's home: directories shared by many tools, and not the installation of one. */
const COMMON = [
  ...[".local", ".local/share", ".local/opt", ".local/lib", ".config", ".cache"],
  ...["Desktop", "Documents", "Downloads", "Projects", "projects", "src", "code", "work"],
];
/** Each directory in these is one package. */
const PACKAGE_DIRS = [".local/share", ".local/opt", ".local/lib"];
const MAX_LINKS = 400;

/** A directory on PATH, and what its programs need. */
export function showPrograms(showing: Showing, path: string): void {
  const real = realOr(path);
  if (real === undefined || !statOr(real)?.isDirectory()) return;
  if (!showing.show(path, { instead: (dir) => installation(showing, dir) })) return;
  // A link of the system's directories stays within what the root shows. A link that a person made there may
  // lead anywhere.
  if (showing.isInRoot(real) && !isWithin("/usr/local", real)) return;
  showLinked(showing, real, (file) => packageOf(showing, file));
}

/** Where rustup, pyenv and the like have a link for each version that they did not install themselves. */
const VERSION_DIRS = ["toolchains", "versions"];

export function showVersions(showing: Showing, place: string): void {
  for (const dir of VERSION_DIRS) showLinked(showing, join(place, dir), (version) => version);
}

/** Shows what the links in a directory lead to, or, with `instead`, the larger thing that each belongs to. */
function showLinked(showing: Showing, dir: string, instead: (real: string) => string): void {
  let left = MAX_LINKS;
  for (const entry of entriesOf(dir)) {
    if (!entry.isSymbolicLink() || left-- <= 0) continue;
    const link = join(dir, entry.name);
    // Most lead to a place in the same installation, and their text alone shows that.
    if (!showing.isShown(resolve(dir, targetOf(link)))) showing.show(link, { instead });
  }
}

/** `…/bin` is in a prefix, which is shown with it if it is an installation. */
function installation({ home }: Showing, dir: string): string {
  const prefix = dirname(dir);
  if (!PROGRAM_DIRS.has(basename(dir))) return dir;
  if (COMMON.some((common) => prefix === join(home, common))) return dir;
  const isOwn = basename(dir) === ".bin" || basename(dir) === "shims" || isDotted(home, prefix);
  return isOwn || entriesOf(prefix).some(({ name }) => PARTS.has(name)) ? prefix : dir;
}

/** A tool's own directory in the user's home, as its leading dot shows. */
const isDotted = (home: string, path: string) =>
  isWithin(home, path) && path.slice(home.length).includes("/.");

/** For a program that a link leads to: everything beside it that it may load. */
function packageOf(showing: Showing, file: string): string {
  const { home } = showing;
  const modules = parentsOf(file).find((dir) => basename(dir) === "node_modules");
  if (modules !== undefined) return modules;
  for (const dirs of PACKAGE_DIRS.map((dir) => join(home, dir))) {
    const name = isWithin(dirs, file) ? file.slice(dirs.length + 1).split("/")[0] : "";
    if (name !== "" && join(dirs, name ?? "") !== file) return join(dirs, name ?? "");
  }
  const dir = dirname(file);
  if (PROGRAM_DIRS.has(basename(dir))) return installation(showing, dir);
  return COMMON.some((common) => dir === join(home, common)) ? file : dir;
}
