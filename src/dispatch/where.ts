/**
 * Owns where in the repo a command starts: in the directory that it is asked for from, or in a directory that
 * is named. Both are paths of the checkout; the capsule has the same path.
 */
import { existsSync, realpathSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import { HoldfastError } from "../contract/index.ts";

export interface Where {
  /** The directory in which it is asked for. */
  readonly here: string;
  /** The repo, as it was given. */
  readonly repo?: string;
  /**
   * The directory to start in, as it was given: relative to here, or to the top of a repo that is elsewhere.
   */
  readonly cwd?: string;
}

/** Its path from the top; undefined for the top itself. */
export function directoryIn(repo: string, { here, repo: named, cwd }: Where): string | undefined {
  // A bare repo has no checkout.
  const isCheckout = existsSync(join(repo, ".git"));
  const inside = isCheckout
    ? [here, named ?? here].map((dir) => realpathOf(dir)).filter((dir) => pathFrom(repo, dir) !== undefined)
    : [];
  const path =
    cwd === undefined
      ? pathFrom(repo, realpathOf(named ?? here))
      : (pathFrom(repo, resolve(inside[0] ?? repo, cwd)) ?? pathFrom(repo, realpathOf(resolve(here, cwd))));
  if (path === undefined && cwd !== undefined)
    throw new HoldfastError("usage", `--cwd ${cwd} is not in the repo ${repo}`, { cwd });
  return isCheckout || cwd !== undefined ? path || undefined : undefined;
}

function realpathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/** Undefined if the path leads out of the repo. */
function pathFrom(top: string, path: string): string | undefined {
  const way = relative(top, path);
  return way === ".." || way.startsWith("../") || isAbsolute(way) ? undefined : way;
}
