/**
 * Owns moving a branch of the user's to a commit that descends from it, at a person's request. The working
 * tree that has it checked out moves along.
 *
 * move-1 The branch moves forward only, and only from its known commit; meanwhile it is locked. A working
 *    tree that is on it gets the new files before the branch is moved, by the user's own git, with filters
 *    and without hooks. Nothing is moved if the working tree is not clean, if git is in the middle of an
 *    operation there, or if an uncommitted file is in the way.
 *
 * A kill leaves the branch as it was, and files that git had begun to update. `finishMove` continues from
 * there: with the branch if all of them are updated, and back where the killed git left its lock.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import type { Disk } from "../../util/index.ts";
import { type Identity, runGit } from "../git/git.ts";
import { hasObject } from "../repo/commits.ts";
import { BRANCH_FOLDER } from "../repo/named-branches.ts";
import { moveRef } from "../repo/ref-transaction.ts";
import { isAncestor } from "../repo/refs.ts";
import { type Repo, userPlace } from "../repo/repo.ts";
import type { Store } from "../store/store.ts";
import { isLocked, takeBackCut } from "./move-back.ts";
import { type FileUpdate, isAtCommit, updateFiles, whyNotClean } from "./moved-files.ts";
import { copyObjects } from "./publish.ts";
import { type WorkTree, workTreesOf } from "./work-trees.ts";

export interface Target {
  readonly branch: string;
  readonly tip: string;
}

export interface TargetMove extends Target {
  readonly repo: Repo;
  readonly store: Store;
  readonly disk: Disk;
  /** A descendant of the tip. */
  readonly commit: string;
  readonly reason: string;
  readonly identity: Identity;
  /** Called before anything is moved, when all checks have passed. */
  readonly onMove: () => Promise<void>;
}

/** The branch that is named, or the one that the session's checkout is on. */
export async function findTarget(repo: Repo, named?: string): Promise<Target> {
  const branch = await realBranch(repo, named?.replace(/^refs\/heads\//, "") ?? (await currentBranch(repo)));
  const tip = await exactTip(repo, branch);
  if (tip === undefined) {
    const isUnborn = branch === (await currentBranch(repo).catch(() => undefined));
    const why = isUnborn
      ? `the branch ${branch} of ${placeOf(repo)} has no commit yet: make the first one there, or take the session's with git merge`
      : `there is no branch ${branch} in ${placeOf(repo)}`;
    throw new HoldfastError("branch_not_found", why, { branch });
  }
  if (branch.startsWith(BRANCH_FOLDER))
    throw new HoldfastError("merge_refused", `${branch} is a session's own branch: name one of yours`);
  return { branch, tip };
}

/** Git follows as many. */
const MAX_NAMES = 5;

const placeOf = ({ checkout, gitDir }: Repo) => checkout ?? gitDir;

async function currentBranch(repo: Repo): Promise<string> {
  const args = ["symbolic-ref", "--quiet", "HEAD"];
  const { exitCode, stdout } = await runGit({ gitDir: repo.headDir }, args, { accept: [0, 1] });
  const ref = stdout.toString("utf8").trim();
  if (exitCode === 0 && ref.startsWith("refs/heads/")) return ref.slice("refs/heads/".length);
  throw new HoldfastError("branch_not_found", `${placeOf(repo)} is on no branch: name one with --into`);
}

/** A branch may be another name of one. Only the real one is checked out anywhere. */
async function realBranch(repo: Repo, branch: string): Promise<string> {
  let real = branch;
  for (let followed = 0; followed < MAX_NAMES; followed += 1) {
    const args = ["symbolic-ref", "--quiet", `refs/heads/${real}`];
    const { exitCode, stdout } = await runGit(userPlace(repo), args, { accept: [0, 1, 128] });
    const ref = stdout.toString("utf8").trim();
    if (exitCode !== 0 || !ref.startsWith("refs/heads/")) return real;
    real = ref.slice("refs/heads/".length);
  }
  return real;
}

/** The commit of a branch with exactly this name. Other names that lead to a commit do not count. */
async function exactTip(repo: Repo, branch: string): Promise<string | undefined> {
  const args = ["show-ref", "--verify", "--hash", "--", `refs/heads/${branch}`];
  const { exitCode, stdout } = await runGit(userPlace(repo), args, { accept: [0, 1, 128] });
  return exitCode === 0 ? stdout.toString("utf8").trim() : undefined;
}

/** Fails if the branch can't be moved as things are. Returns the working tree that would move along. */
export async function assertMovable(repo: Repo, branch: string): Promise<WorkTree | undefined> {
  const [tree, other] = await workTreesOf(repo, branch);
  if (!tree) return undefined;
  const refuse = (why: string) => {
    throw new HoldfastError("merge_refused", `the branch ${branch} was not moved: ${why}`, { branch });
  };
  if (other) refuse(`${tree.path} and ${other.path} both have it checked out`);
  if (!existsSync(tree.path))
    refuse(
      `it is checked out in ${tree.path}, which does not exist; if it is gone for good, run git worktree prune`,
    );
  if (tree.underWay) refuse(`a ${tree.underWay} is under way in ${tree.path}: end it first`);
  const dirty = await whyNotClean(tree);
  if (dirty !== undefined) refuse(`${tree.path} is not clean, ${dirty}: commit or stash that first`);
  return tree;
}

/** False if the branch has another tip by now. Then nothing was changed. */
export async function moveTarget(move: TargetMove): Promise<boolean> {
  const { repo, store, disk, branch, tip, commit, reason, identity, onMove } = move;
  await assertMovable(repo, branch);
  await copyObjects(repo, store, commit, tip);
  await disk.syncDir(join(repo.objects, "pack"));
  if (!(await isAncestor(repo, tip, commit)))
    throw new Error(`${commit} does not descend from ${tip}, where ${branch} is`);
  return lockedMove({ repo, disk, branch, tip, commit, reason, identity }, async () => {
    // Checked again, now that nothing else can move the branch.
    const tree = await assertMovable(repo, branch);
    const update = tree && (await updateFiles(tree, tip, commit));
    await onMove();
    await update?.bring();
    return update;
  });
}

type RefOnly = Omit<TargetMove, "store" | "onMove">;

async function lockedMove(
  { repo, disk, branch, tip, commit, reason, identity }: RefOnly,
  bringFiles: () => Promise<FileUpdate | undefined>,
): Promise<boolean> {
  const ref = `refs/heads/${branch}`;
  const [tree] = await workTreesOf(repo, branch);
  // The log of a HEAD that is on the branch records it too.
  const gitDir = tree?.gitDir ?? repo.gitDir;
  let update: FileUpdate | undefined;
  const refusal = await moveRef({ gitDir, ref, from: tip, to: commit, reason, identity }, async () => {
    update = await bringFiles();
  });
  const now = refusal === undefined ? commit : await exactTip(repo, branch);
  if (refusal !== undefined && now !== commit) {
    const left = await update?.undo();
    const files =
      left === undefined
        ? ""
        : `; the files of ${tree?.path} are those of the merge: git reset --merge brings them back there (${left})`;
    if (now !== tip && left === undefined) return false;
    throw new HoldfastError("merge_refused", `the branch ${branch} could not be moved: ${refusal}${files}`, {
      branch,
    });
  }
  // If refs are files, their directory has the new name.
  const dir = dirname(join(repo.gitDir, ref));
  if (existsSync(dir)) await disk.syncDir(dir);
  return true;
}

/**
 * Finishes a move that was cut off. Returns whether the branch has the commit, or gets it because its working
 * tree already has the files; undefined if that can't be told yet. If a killed git left some of the files,
 * they are taken back.
 */
export async function finishMove(move: Omit<RefOnly, "tip">): Promise<boolean | undefined> {
  const { repo, branch, commit } = move;
  const tip = await exactTip(repo, branch);
  if (tip === undefined || !(await hasObject(repo, commit))) return false;
  // A person may have committed on top of it.
  if (tip === commit || (await isAncestor(repo, commit, tip))) return true;
  const [tree, other] = await workTreesOf(repo, branch);
  if (!tree || other || tree.underWay || isSquashing(tree)) return false;
  // It may be on a disk that is not mounted.
  if (!existsSync(tree.path)) return undefined;
  if (!(await isAncestor(repo, tip, commit))) return false;
  if (await isAtCommit(tree, commit)) return lockedMove({ ...move, tip }, async () => undefined);
  const aside = join(repo.dir, `moved-${randomUUID()}.index`);
  await takeBackCut(tree, { from: tip, to: commit, aside }).catch((error: unknown) => {
    // The session goes on all the same. The next merge says what is not clean.
    if (!isHoldfastError(error, "git_failed")) throw error;
  });
  return isLocked(tree) ? undefined : false;
}

/** What git leaves of a person's `git merge --squash`, whose files may be the same. */
const isSquashing = ({ gitDir }: WorkTree) => existsSync(join(gitDir, "SQUASH_MSG"));
