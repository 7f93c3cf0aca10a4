/**
 * Owns the form of bubblewrap's arguments for paths that are shown, and for paths that are covered.
 *
 * Each mount makes every command a quarter of a millisecond slower, because bubblewrap reads all mounts again
 * for it. So it mounts only what it must.
 */
import { isWithin } from "../../util/index.ts";
import { type Link, lstatOr, nearest, parentsOf } from "./paths.ts";
import { rootDirs } from "./root-dirs.ts";

export interface Shown {
  /** Real paths of directories and files. They are shown read-only at the same path. */
  readonly read: readonly string[];
  /** Links that must be inside too, because the tools were given a path through them. */
  readonly links: readonly Link[];
  /** Real paths inside something that is shown. They are empty in the sandbox. */
  readonly covered: readonly string[];
}

export interface ShownArguments {
  /** Goes after the root, and before what the task itself gets. */
  readonly show: readonly string[];
  /** Goes after everything else. */
  readonly seal: readonly string[];
}

export const madeDir = (path: string): string[] => ["--perms", "0755", "--dir", path];

/**
 * A directory for each parent of these paths, the outermost first: bubblewrap makes missing directories with
 * mode 0700, which the task's user could not enter. None is made inside what is shown already, where they all
 * exist.
 */
export function parentDirs(paths: readonly string[], shown: readonly string[] = []): string[] {
  const there = [...rootDirs().dirs, ...shown];
  const parents = new Set(paths.flatMap(parentsOf));
  const missing = [...parents].filter((dir) => !there.some((one) => isWithin(one, dir)));
  return missing.sort().flatMap(madeDir);
}

export function shownArguments({ read, links, covered }: Shown): ShownArguments {
  const covers = covered.map((path) => [path, cover(path)] as const);
  const mounts = new Map<string, readonly string[]>([
    // A path that has gone since it was found must not make a command fail.
    ...read.map((path) => [path, ["--ro-bind-try", path, path]] as const),
    ...links.map(([target, path]) => [path, ["--symlink", target, path]] as const),
    ...covers.map(([path, { show }]) => [path, show] as const),
  ]);
  const show = parentDirs([...mounts.keys()], [...read, ...covered]);
  // In the order of the paths, so that an entry of a directory comes after the directory, whether shown or
  // covered.
  for (const path of [...mounts.keys()].sort())
    show.push(...dirsInside(covered, [path]), ...(mounts.get(path) ?? []));
  return { show, seal: covers.flatMap(([, { seal }]) => seal) };
}

/** The parents of these paths that are inside a covered directory, where they do not exist. */
export function dirsInside(covered: readonly string[], paths: readonly string[]): string[] {
  const missing = paths.flatMap((path) => {
    const empty = nearest(covered, path);
    return parentsOf(path).filter((dir) => empty !== undefined && dir !== empty && isWithin(empty, dir));
  });
  return [...new Set(missing)].sort().flatMap(madeDir);
}

/**
 * Empty rather than unreadable: a tool that can't read its settings fails. A link is left alone, because its
 * target is covered itself, or not shown.
 */
export function cover(path: string): ShownArguments {
  const stats = lstatOr(path);
  if (!stats || stats.isSymbolicLink()) return { show: [], seal: [] };
  if (!stats.isDirectory()) return { show: ["--dev-bind", "/dev/null", path], seal: [] };
  return { show: ["--perms", "0755", "--tmpfs", path], seal: ["--remount-ro", path] };
}
