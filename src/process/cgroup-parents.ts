/**
 * Owns the places on this machine where a cgroup of ours can be made: below our own one, in the old form with
 * a tree for each controller, and in the new form with a single tree.
 */
import { accessSync, constants, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { readTextOr } from "../util/index.ts";

export type Controller = "pids" | "memory";

/** A directory in which a cgroup of ours may be able to count. */
export interface CgroupParent {
  readonly dir: string;
  readonly version: 1 | 2;
  readonly controllers: readonly Controller[];
}

/** The directory that all our cgroups are in. */
export const OURS = "holdfast";
/** Where the kernel tells which cgroups we are in. Tests have a directory of their own. */
export const OWN_PROC = "/proc/self";

const MAX_LOOKED = 10_000;

interface Tree extends CgroupParent {
  /** The part of the tree that is mounted at `dir`. */
  readonly root: string;
}

/** For each tree the possible parents, the nearest first. Only an attempt shows which one works. */
export function cgroupParents(wanted: readonly Controller[], proc = OWN_PROC): CgroupParent[][] {
  return treesOf(wanted, proc).map((tree) => {
    const own = ownDir(tree, proc);
    if (own === undefined) return [];
    if (tree.version === 1) return [{ ...tree, dir: own }];
    return ancestors(own, tree.dir)
      .map((dir) => ({ ...tree, dir, controllers: tree.controllers.filter(handedDownIn(dir, own)) }))
      .filter(({ dir, controllers }) => controllers.length > 0 && canMoveFrom(dir));
  });
}

/**
 * A cgroup above us stays as it is, with what it passes down. Our own may pass down everything that it has.
 */
function handedDownIn(dir: string, own: string): (controller: Controller) => boolean {
  const file = dir === own ? "cgroup.controllers" : "cgroup.subtree_control";
  const there = wordsOf(readTextOr(join(dir, file), ""));
  return (controller) => there.includes(controller);
}

/** Every directory of ours in these trees, whichever process made it. */
export function ourDirectories(proc = OWN_PROC): string[] {
  const left = treesOf(["pids", "memory"], proc).map(({ dir }) => dir);
  const found: string[] = [];
  for (let looked = 0; looked < MAX_LOOKED; looked += 1) {
    const dir = left.shift();
    if (dir === undefined) break;
    for (const name of directoriesIn(dir)) (name === OURS ? found : left).push(join(dir, name));
  }
  return found;
}

export function directoriesIn(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [one.name] : []));
  } catch {
    return [];
  }
}

/**
 * A controller is in one tree at a time. Fields 4 and 5 of proc_pid_mountinfo(5), and those after the dash.
 */
function treesOf(wanted: readonly Controller[], proc: string): Tree[] {
  return readTextOr(join(proc, "mountinfo"), "")
    .split("\n")
    .flatMap((line): Tree[] => {
      const [own = "", system = ""] = line.split(" - ");
      const [, , , root = "", dir = ""] = own.split(" ");
      const [type, , options = ""] = system.split(" ");
      const version = type === "cgroup" ? 1 : type === "cgroup2" ? 2 : undefined;
      if (version === undefined) return [];
      const all =
        version === 1 ? options.split(",") : wordsOf(readTextOr(join(dir, "cgroup.controllers"), ""));
      const controllers = wanted.filter((one) => all.includes(one));
      return controllers.length > 0 ? [{ dir, root, version, controllers }] : [];
    });
}

/** Undefined if we are outside of what is mounted. */
function ownDir({ dir, root, version, controllers }: Tree, proc: string): string | undefined {
  for (const line of readTextOr(join(proc, "cgroup"), "").split("\n")) {
    const [, named = "", ...rest] = line.split(":");
    const isTree =
      version === 2
        ? line.startsWith("0::")
        : named.split(",").some((one) => controllers.includes(one as Controller));
    if (!isTree) continue;
    const below = relative(root, rest.join(":"));
    return below.split("/").includes("..") ? undefined : join(dir, below);
  }
  return undefined;
}

function ancestors(dir: string, top: string): string[] {
  return dir === top || dir === "/" ? [dir] : [dir, ...ancestors(dirname(dir), top)];
}

/** In the new form, moving a process takes write access to the common ancestor of both cgroups. */
function canMoveFrom(dir: string): boolean {
  try {
    accessSync(join(dir, "cgroup.procs"), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

export const wordsOf = (text: string) => text.split(/\s+/).filter((word) => word !== "");
