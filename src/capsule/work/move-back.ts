/**
 * Owns taking back an update of the user's files that git began and did not complete: their index still has
 * the old files, and nothing else of the working tree is touched. The user's own git does it, filters
 * included.
 */
import { existsSync, rmdirSync, unlinkSync } from "node:fs";
import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { isHoldfastError } from "../../contract/index.ts";
import { isOpenAnywhere } from "../../process/index.ts";
import { Cursor } from "../files/cursor.ts";
import { ancestorsOf, type BytePath, toBytes } from "../files/path.ts";
import type { GitPlace } from "../git/git.ts";
import { GITLINK_MODE, NO_MODE, type RawChange, rawDiff } from "../git/raw-diff.ts";
import { userGit } from "../git/user-git.ts";
import type { WorkTree } from "./work-trees.ts";

const placeOf = ({ path, gitDir }: WorkTree) => ({ gitDir, workTree: path });
const isWriting = true;

/** What an update changes in a clean working tree. Nothing is in the way of the files that it adds. */
export interface Update {
  readonly changes: readonly RawChange[];
  /** The directories above added files that did not exist before. */
  readonly newDirs: ReadonlySet<BytePath>;
}

/** Looks at a working tree before it is updated. */
export function updateOf({ path: root }: WorkTree, changes: readonly RawChange[]): Update {
  const newDirs = new Set<BytePath>();
  using cursor = new Cursor(root);
  for (const dir of addedIn(changes).flatMap(ancestorsOf)) {
    const isThere = cursor.inParent(dir, (parent, name) => parent.stat(name)?.isDirectory());
    if (!isThere) newDirs.add(dir);
  }
  return { changes, newDirs };
}

const addedIn = (changes: readonly RawChange[]) =>
  changes.flatMap(({ path, oldMode, mode }) => (oldMode === NO_MODE && mode !== GITLINK_MODE ? [path] : []));

/** Returns the paths that could not be brought back. */
export async function takeBack(tree: WorkTree, { changes, newDirs }: Update): Promise<BytePath[]> {
  dropStaleLock(tree);
  const added = addedIn(changes);
  removeAdded(tree, added, newDirs);
  const before = changes.flatMap(({ path, oldMode }) =>
    oldMode === NO_MODE || oldMode === GITLINK_MODE ? [] : [path],
  );
  if (!(await checkOutAgain(tree, before)))
    for (const path of await differingOf(tree, before)) await checkOutAgain(tree, [path]);
  const left = await differingOf(tree, before);
  return [...added.filter((path) => isThere(tree, path)), ...left];
}

/**
 * The same for an update that a kill cut off, however long ago. Its proof is the lock that a killed git leaves
 * on the index. And nothing is touched unless all that differs from the index is what the update would have
 * made of it: then no person's change is among it.
 */
export async function takeBackCut(
  tree: WorkTree,
  { from, to, aside }: { readonly from: string; readonly to: string; readonly aside: string },
): Promise<void> {
  if (!isLocked(tree) || !isLockStale(tree)) return;
  if (!(await isIndexOf(tree, from))) return;
  const changes = await rawDiff({ gitDir: tree.gitDir }, from, to);
  const moved = new Set(changes.map(({ path }) => path));
  const added = addedIn(changes).filter((path) => isThere(tree, path));
  const { changed, others } = await compared(tree, to, aside);
  const isHalf = (path: BytePath) => moved.has(path) && (!others.has(path) || !isThere(tree, path));
  if (![...added, ...changed].every(isHalf)) return;
  // A git that was about to end has ended by now.
  if (!isLocked(tree) || !(await isIndexOf(tree, from))) return;
  await takeBack(tree, { changes, newDirs: new Set(added.flatMap(ancestorsOf)) });
}

/** What stands in another place than git would have put it is left alone. */
function removeAdded({ path: root }: WorkTree, added: readonly BytePath[], newDirs: Update["newDirs"]): void {
  using cursor = new Cursor(root);
  for (const path of added)
    cursor.inParent(path, (dir, name) => {
      if (dir.stat(name)?.isDirectory() === false) unlinkSync(dir.at(name));
    });
  // The deepest first.
  for (const path of [...newDirs].sort().reverse())
    cursor.inParent(path, (dir, name) => {
      using inside = dir.child(name);
      if (inside?.names().length === 0) rmdirSync(dir.at(name));
    });
}

/** False if git failed, which it does at the first file whose filter fails. */
async function checkOutAgain(tree: WorkTree, paths: readonly BytePath[]): Promise<boolean> {
  const args = ["checkout-index", "--force", "--index", "--quiet", "-z", "--stdin"];
  try {
    await userGit(placeOf(tree), args, { isWriting, input: [listOf(paths)] });
    return true;
  } catch (error) {
    if (isHoldfastError(error, "git_failed")) return false;
    throw error;
  }
}

/** Those of the paths whose files are not those of the index. */
async function differingOf(tree: WorkTree, paths: readonly BytePath[]): Promise<BytePath[]> {
  const wanted = new Set(paths);
  return (await differing(placeOf(tree))).filter((path) => wanted.has(path));
}

/**
 * `changed`: the paths whose files are not those of the index. `others`: those whose files are not the
 * commit's. It looks at a copy of the index, in the file `aside`, because the index itself may be locked.
 */
async function compared(
  tree: WorkTree,
  commit: string,
  aside: string,
): Promise<{ readonly changed: readonly BytePath[]; readonly others: ReadonlySet<BytePath> }> {
  const place = { ...placeOf(tree), indexFile: aside };
  try {
    await copyFile(join(tree.gitDir, "index"), aside);
    await refresh(place);
    const changed = await differing(place);
    await userGit(place, ["read-tree", "-i", "-m", commit], { isWriting });
    await refresh(place);
    return { changed, others: new Set(await differing(place)) };
  } finally {
    await rm(aside, { force: true });
  }
}

/**
 * After this, git does not report files whose time alone has changed, and looks at those that it was told to take for
 * unchanged. It fails where others differ.
 */
async function refresh(place: GitPlace): Promise<void> {
  const args = ["update-index", "-q", "--really-refresh", "--ignore-submodules"];
  await userGit(place, args, { isWriting }).catch((error: unknown) => {
    if (!isHoldfastError(error, "git_failed")) throw error;
  });
}

/** The paths whose files are not those of the index. */
async function differing(place: GitPlace): Promise<BytePath[]> {
  const out = await userGit(place, ["diff-files", "-z", "--name-only", "--ignore-submodules"]);
  return out.toString("latin1").split("\0").filter(Boolean);
}

async function isIndexOf(tree: WorkTree, commit: string): Promise<boolean> {
  try {
    await userGit(placeOf(tree), ["diff-index", "--cached", "--quiet", "--ignore-submodules", commit]);
    return true;
  } catch (error) {
    if (isHoldfastError(error, "git_failed")) return false;
    throw error;
  }
}

/** Whether a file or a link is there. */
function isThere({ path: root }: WorkTree, path: BytePath): boolean {
  using cursor = new Cursor(root);
  return cursor.inParent(path, (dir, name) => dir.stat(name)?.isDirectory()) === false;
}

/** Git has it for as long as it writes the index. If git is killed, it stays. */
const lockOf = ({ gitDir }: WorkTree) => join(gitDir, "index.lock");
export const isLocked = (tree: WorkTree) => existsSync(lockOf(tree));
const isLockStale = (tree: WorkTree) => isOpenAnywhere(lockOf(tree)) === false;

function dropStaleLock(tree: WorkTree): void {
  if (isLocked(tree) && isLockStale(tree)) unlinkSync(lockOf(tree));
}

const listOf = (paths: readonly BytePath[]) =>
  Buffer.concat(paths.map((path) => Buffer.concat([toBytes(path), Buffer.from([0])])));
