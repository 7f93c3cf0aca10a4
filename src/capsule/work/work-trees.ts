/**
 * Owns the question which working trees of the user have a branch: checked out, or in an operation that will
 * return to it.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { readPlainFile } from "../../util/index.ts";
import { git } from "../git/git.ts";
import { type Repo, userPlace } from "../repo/repo.ts";

export interface WorkTree {
  readonly path: string;
  readonly gitDir: string;
  /** The git operation that is under way there; null if there is none. */
  readonly underWay: string | null;
}

const MAX_LINE_BYTES = 4096;

/** What git leaves in a gitdir during an operation. */
const UNDER_WAY = {
  "rebase-merge": "rebase",
  "rebase-apply": "rebase",
  MERGE_HEAD: "merge",
  CHERRY_PICK_HEAD: "cherry-pick",
  REVERT_HEAD: "revert",
  "sequencer/todo": "cherry-pick",
  BISECT_LOG: "bisect",
} as const;

/** The working tree that has a branch checked out, or is in the middle of rebasing it. */
export async function checkedOutIn(repo: Repo, branch: string): Promise<string | undefined> {
  const [found] = await workTreesOn(repo, branch, (gitDir) => [rebased(gitDir)]);
  return found?.path;
}

/** All that have it checked out, or will return to it after a rebase or a bisection. */
export function workTreesOf(repo: Repo, branch: string): Promise<WorkTree[]> {
  return workTreesOn(repo, branch, (gitDir) => [rebased(gitDir), bisected(gitDir)]);
}

async function workTreesOn(
  repo: Repo,
  branch: string,
  leftFor: (gitDir: string) => readonly (string | undefined)[],
): Promise<WorkTree[]> {
  const ref = `refs/heads/${branch}`;
  const out = (await git(userPlace(repo), ["worktree", "list", "--porcelain", "-z"])).toString("utf8");
  const found: WorkTree[] = [];
  const listing = out.split("\0\0").map((part) => part.split("\0"));
  for (const [at, fields] of listing.entries()) {
    const listed = fields.find((field) => field.startsWith("worktree "))?.slice("worktree ".length);
    if (listed === undefined || fields.includes("bare")) continue;
    const { path, gitDir } = at === 0 ? mainOf(repo, listed) : { path: listed, gitDir: gitDirOf(listed) };
    if (fields.includes(`branch ${ref}`) || leftFor(gitDir).includes(ref))
      found.push({ path, gitDir, underWay: underWayIn(gitDir) });
  }
  return found;
}

/**
 * The first in the list is the repo's own. Where its gitdir is not below it, as in a submodule, git lists the gitdir in
 * its place.
 */
function mainOf({ checkout, gitDir, headDir }: Repo, listed: string): Pick<WorkTree, "path" | "gitDir"> {
  return { path: checkout !== null && headDir === gitDir ? checkout : listed, gitDir };
}

function gitDirOf(workTree: string): string {
  const pointer = readPlainFile(join(workTree, ".git"), { maxBytes: MAX_LINE_BYTES });
  const named = /^gitdir: (\S.*)/.exec(pointer?.toString("utf8") ?? "")?.[1]?.trim();
  // It may be relative to its own place.
  return resolve(workTree, named ?? ".git");
}

function rebased(gitDir: string): string | undefined {
  const [name] = ["rebase-merge/head-name", "rebase-apply/head-name"].flatMap(
    (file) => lineOf(gitDir, file) ?? [],
  );
  return name;
}

function bisected(gitDir: string): string | undefined {
  const name = lineOf(gitDir, "BISECT_START");
  return name && `refs/heads/${name}`;
}

function underWayIn(gitDir: string): string | null {
  return Object.entries(UNDER_WAY).find(([name]) => existsSync(join(gitDir, name)))?.[1] ?? null;
}

const lineOf = (gitDir: string, file: string) =>
  readPlainFile(join(gitDir, file), { maxBytes: MAX_LINE_BYTES })?.toString("utf8").trim();
