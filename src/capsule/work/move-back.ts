/**
 * Owns taking back an update of the user's files that git began and did not complete: their index still has
 * the old files, and nothing else of the working tree is touched. The user's own git does it, filters
 * included.
 */
import { rmdirSync, unlinkSync } from "node:fs";
import { isHoldfastError } from "../../contract/index.ts";
import { Cursor } from "../files/cursor.ts";
import { ancestorsOf, type BytePath, toBytes } from "../files/path.ts";
import { GITLINK_MODE, NO_MODE, type RawChange } from "../git/raw-diff.ts";
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
  const added = addedIn(changes);
  removeAdded(tree, added, newDirs);
  const before = changes.flatMap(({ path, oldMode }) =>
    oldMode === NO_MODE || oldMode === GITLINK_MODE ? [] : [path],
  );
  if (!(await checkOutAgain(tree, before)))
    for (const path of await differing(tree, before)) await checkOutAgain(tree, [path]);
  using cursor = new Cursor(tree.path);
  const left = added.filter((path) => cursor.inParent(path, (dir, name) => dir.stat(name)?.isFile()));
  return [...left, ...(await differing(tree, before))];
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
async function differing(tree: WorkTree, paths: readonly BytePath[]): Promise<BytePath[]> {
  const out = await userGit(placeOf(tree), ["diff-files", "-z", "--name-only", "--ignore-submodules"]);
  const wanted = new Set(paths);
  return out
    .toString("latin1")
    .split("\0")
    .filter((path) => wanted.has(path));
}

const listOf = (paths: readonly BytePath[]) =>
  Buffer.concat(paths.map((path) => Buffer.concat([toBytes(path), Buffer.from([0])])));
