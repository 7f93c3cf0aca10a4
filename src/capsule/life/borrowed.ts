/**
 * Owns what a task's sandbox shows around its files: the objects that its gitdir borrows.
 *
 * borrowed-1 A path that the user's gitdir names is shown only if it is a store of git objects, belongs to
 *    the user, and is not inside or around the home, the place of its sockets, /run or /tmp. So a line in a
 *    file of the repo opens nothing.
 */
import { existsSync, lstatSync, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { findHomeRuntimeDir } from "../../mail/index.ts";
import { halfOfAllProcesses, plainSandbox, type Sandbox, taskUser } from "../../process/index.ts";
import { homeManifestPath, isOwnUid, isWithin, readPlainFile, sessionsDir } from "../../util/index.ts";
import { objectsLink, type Repo } from "../repo/repo.ts";
import { cgroupOfGit } from "./cgroups.ts";

const MAX_ALTERNATES_BYTES = 1024 * 1024;
/** The same limit as git's. */
const MAX_DEPTH = 5;
const NAMES = /^([0-9a-f]{2}|pack|info|tmp_[\w-]+|bulk-fsync[\w-]*|maintenance\.lock)$/;
/** More names than a store can have. */
const MAX_NAMES = 2000;

/** What is around a capsule's files inside its sandbox, and which user its processes run as. */
export function sandboxAround(homeDir: string, repo: Repo, session: string): Sandbox {
  // Without a checkout, all tasks use the same path: an agent finds its conversation by it, and set-up writes
  // absolute paths.
  const at = repo.checkout ?? join(repo.dir, "files");
  return {
    ...plainSandbox(at, taskUser(repo.checkout ?? repo.objects)),
    borrowed: borrowedObjects(homeDir, repo.objects),
    hidden: [homeDir],
    readable: [[objectsOf(homeDir, repo), objectsLink(repo)]],
    limits: { maxProcesses: halfOfAllProcesses() },
    cgroup: cgroupOfGit(repo, session),
  };
}

/** The repo's own objects, by their real path. A link that leads to anything else is refused. */
function objectsOf(homeDir: string, { objects }: Repo): string {
  const real = realpathSync(objects);
  if (real === objects || (isApart(homeDir, real) && isStore(real))) return real;
  throw new HoldfastError("not_a_repo", `${objects} leads to ${real}, which is not a store of git objects`, {
    path: objects,
  });
}

/** The object directories that the user's own borrow from, recursively, as far as they may be shown. */
export function borrowedObjects(homeDir: string, objects: string): string[] {
  // Or to the owner of the repo itself, which the user has accepted.
  const { uid: owner } = statSync(objects);
  const isOwn = (uid: number) => uid === owner || isOwnUid(uid);
  const found: string[] = [];
  const visit = (dir: string, depth: number) => {
    for (const path of alternatesOf(dir)) {
      if (found.includes(path) || depth > MAX_DEPTH) continue;
      if (!isApart(homeDir, path) || !isStore(path) || !isOwn(statSync(path).uid)) continue;
      found.push(path);
      visit(path, depth + 1);
    }
  };
  visit(objects, 1);
  return found;
}

/** By their real paths: the target of a link is what would be shown. */
function alternatesOf(dir: string): string[] {
  const bytes = readPlainFile(join(dir, "info", "alternates"), { maxBytes: MAX_ALTERNATES_BYTES });
  return (bytes?.toString("utf8") ?? "").split("\n").flatMap((line) => {
    if (line === "" || line.startsWith("#")) return [];
    try {
      return [realpathSync(isAbsolute(line) ? line : resolve(dir, line))];
    } catch {
      return [];
    }
  });
}

/** It neither is nor contains a path that a sandbox covers, and is not part of this home or any other. */
function isApart(homeDir: string, path: string): boolean {
  const runtime = findHomeRuntimeDir(homeDir);
  const own = runtime === undefined ? [homeDir] : [homeDir, runtime];
  if (own.some((dir) => isWithin(dir, path))) return false;
  if ([...own, "/run", "/tmp"].some((dir) => isWithin(path, dir))) return false;
  for (let dir = path; dir !== dirname(dir); dir = dirname(dir))
    if (existsSync(homeManifestPath(dir)) && existsSync(sessionsDir(dir))) return false;
  return true;
}

function isStore(path: string): boolean {
  try {
    const names = readdirSync(path);
    if (names.length > MAX_NAMES || !names.every((name) => NAMES.test(name))) return false;
    const isDir = (stats: Stats) => stats.isDirectory();
    return names.some((name) => (name === "pack" || name === "info") && isDir(lstatSync(join(path, name))));
  } catch {
    return false;
  }
}
