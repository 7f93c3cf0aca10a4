/**
 * Owns the form of bubblewrap's arguments for what is shown, and for what is covered.
 *
 * Each mount costs every command a quarter of a millisecond, because bubblewrap reads all mounts again for it. So
 * nothing is mounted that need not be.
 */
import { isWithin } from "../../util/index.ts";
import { type Link, lstatOr, nearest, parentsOf } from "./paths.ts";
import { rootDirs } from "./root-dirs.ts";

export interface Shown {
  /** Real paths of directories and files, shown read-only where they are. */
  readonly read: readonly string[];
  /** Links that must be inside too, because a path through them is what the tools were given. */
  readonly links: readonly Link[];
  /** Real paths in something that is shown, which are empty inside. */
  readonly covered: readonly string[];
}

export interface ShownArguments {
  /** Goes behind the root, and before what the task itself gets. */
  readonly show: readonly string[];
  /** Goes behind everything. */
  readonly seal: readonly string[];
}

export const madeDir = (path: string): string[] => ["--perms", "0755", "--dir", path];

/**
 * A directory for each parent of these paths, the outermost first: bubblewrap makes what is missing with mode 0700,
 * and the task's user could not pass. None is made in what is shown already, where they are all there.
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
    // What has gone since it was found fails no command.
    ...read.map((path) => [path, ["--ro-bind-try", path, path]] as const),
    ...links.map(([target, path]) => [path, ["--symlink", target, path]] as const),
    ...covers.map(([path, { show }]) => [path, show] as const),
  ]);
  const show = parentDirs([...mounts.keys()], [...read, ...covered]);
  // In the order of their paths, what stands in a directory comes behind it, whether that is shown or covered.
  for (const path of [...mounts.keys()].sort()) {
    const empty = nearest(covered, path);
    const between = parentsOf(path).filter(
      (dir) => empty !== undefined && dir !== empty && isWithin(empty, dir),
    );
    show.push(...between.flatMap(madeDir), ...(mounts.get(path) ?? []));
  }
  return { show, seal: covers.flatMap(([, { seal }]) => seal) };
}

/**
 * Empty, and not unreadable: a tool that can't read its settings fails. A link is left alone, for what it leads to is
 * covered itself, or not shown.
 */
export function cover(path: string): ShownArguments {
  const stats = lstatOr(path);
  if (!stats || stats.isSymbolicLink()) return { show: [], seal: [] };
  if (!stats.isDirectory()) return { show: ["--dev-bind", "/dev/null", path], seal: [] };
  return { show: ["--perms", "0755", "--tmpfs", path], seal: ["--remount-ro", path] };
}
