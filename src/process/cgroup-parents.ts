/**
 * Owns where on this machine a cgroup of ours can be made: below our own one, in the old form with a tree for each
 * controller, and in the new one with a single tree.
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

/** The directory that all of ours lie in. */
export const OURS = "holdfast";
/** What says where we are. Tests have one of their own. */
export const OWN_PROC = "/proc/self";

const MAX_LOOKED = 10_000;

interface Tree extends CgroupParent {
  /** What of the tree is mounted at `dir`. */
  readonly root: string;
}

/** For each tree those that may do, the nearest first: only the attempt tells. */
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

/** What is above us stays as it is: it hands down what it does. Of our own one, all that it has may be handed down. */
function handedDownIn(dir: string, own: string): (controller: Controller) => boolean {
  const file = dir === own ? "cgroup.controllers" : "cgroup.subtree_control";
  const there = wordsOf(readTextOr(join(dir, file), ""));
  return (controller) => there.includes(controller);
}

/** Every directory of ours in these trees, whoever made it from wherever. */
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

/** A controller is in one tree at a time. Fields 4 and 5 of proc_pid_mountinfo(5), and those behind the dash. */
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

/** Undefined when we stand outside of what is mounted. */
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

/** In the new form, whoever moves a process needs to write where the ways part. */
function canMoveFrom(dir: string): boolean {
  try {
    accessSync(join(dir, "cgroup.procs"), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

export const wordsOf = (text: string) => text.split(/\s+/).filter((word) => word !== "");
