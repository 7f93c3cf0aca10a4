/**
 * Owns the files of the user's working tree that move along with its branch. The user's own git does all of
 * it: their filters run, their hooks do not.
 */
import { lstatSync, readdirSync } from "node:fs";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { ancestorsOf, type BytePath, toBytes, toText } from "../files/path.ts";
import { GITLINK_MODE, NO_MODE, type RawChange, rawDiff } from "../git/raw-diff.ts";
import { userGit } from "../git/user-git.ts";
import { takeBack, type Update, updateOf } from "./move-back.ts";
import type { WorkTree } from "./work-trees.ts";

const NAMED_PATHS = 5;

const placeOf = ({ path, gitDir }: WorkTree) => ({ gitDir, workTree: path });

/** Undefined if it is clean. Untracked files make no difference. */
export async function whyNotClean(tree: WorkTree): Promise<string | undefined> {
  const args = ["status", "--porcelain", "-z", "--untracked-files=no", "--no-renames"];
  const out = await userGit(placeOf(tree), [...args, "--ignore-submodules=dirty"]);
  const rows = out.toString("latin1").split("\0").filter(Boolean);
  return rows.length === 0 ? undefined : `${named(rows.map((row) => row.slice(3)))} changed`;
}

/**
 * Fails if an uncommitted file would be lost. It returns a function that updates the files. If that fails,
 * they are brought back.
 */
export async function bringFiles(tree: WorkTree, from: string, to: string): Promise<() => Promise<void>> {
  const changes = await rawDiff({ gitDir: tree.gitDir }, from, to);
  const lost = inTheWay(tree, changes);
  if (lost.length > 0)
    throw new HoldfastError(
      "merge_refused",
      `the merge would overwrite ${named(lost)}, which is not committed in ${tree.path}: move it away first`,
      { paths: lost.map((path) => toText(path)) },
    );
  const update = updateOf(tree, changes);
  return async () => {
    // After this, git does not report files whose time alone has changed.
    await write(tree, ["update-index", "-q", "--refresh", "--ignore-submodules"]);
    await write(tree, ["read-tree", "-m", "-u", from, to], update);
  };
}

/** `update`: what it changes in the working tree. It is taken back if git fails. */
async function write(tree: WorkTree, args: readonly string[], update?: Update): Promise<void> {
  try {
    await userGit(placeOf(tree), args, { isWriting: true });
  } catch (error) {
    if (!isHoldfastError(error, "git_failed")) throw error;
    const left = update ? await takeBack(tree, update) : [];
    const now =
      left.length === 0
        ? "all of them are as they were"
        : `${named(left)} could not be brought back, and all others are as they were`;
    throw new HoldfastError(
      "merge_refused",
      `the files of ${tree.path} could not be updated; ${now}: ${error.message}`,
      left.length === 0 ? {} : { paths: left.map((path) => toText(path)) },
    );
  }
}

/** Whether the index and the files are those of the commit. */
export async function isAtCommit(tree: WorkTree, commit: string): Promise<boolean> {
  const questions = [
    ["diff-index", "--cached", "--quiet", "--ignore-submodules", commit],
    ["diff-files", "--quiet", "--ignore-submodules"],
  ];
  for (const question of questions)
    try {
      await userGit(placeOf(tree), question);
    } catch (error) {
      if (isHoldfastError(error, "git_failed")) return false;
      throw error;
    }
  return true;
}

/** Git itself would overwrite files that it ignores. */
function inTheWay({ path: root }: WorkTree, changes: readonly RawChange[]): BytePath[] {
  const gone = new Set(changes.filter(({ mode }) => mode === NO_MODE).map(({ path }) => path));
  const added = changes.filter(({ oldMode, mode }) => oldMode === NO_MODE && mode !== GITLINK_MODE);
  const found = new Set<BytePath>();
  for (const { path } of added) {
    const above = ancestorsOf(path).find((dir) => !gone.has(dir) && isNoDirectory(root, dir));
    for (const one of above === undefined ? filesAt(root, path) : [above]) if (!gone.has(one)) found.add(one);
  }
  return [...found];
}

const at = (root: string, path: BytePath) => Buffer.concat([Buffer.from(`${root}/`), toBytes(path)]);

function isNoDirectory(root: string, path: BytePath): boolean {
  return lstatSync(at(root, path), { throwIfNoEntry: false })?.isDirectory() === false;
}

/** What is at this path: a file, or all files in a directory. */
function filesAt(root: string, path: BytePath): BytePath[] {
  let isDirectory: boolean | undefined;
  try {
    isDirectory = lstatSync(at(root, path), { throwIfNoEntry: false })?.isDirectory();
  } catch {
    // A file is where the directory will be. It is removed for it.
    return [];
  }
  if (isDirectory === undefined) return [];
  if (!isDirectory) return [path];
  return readdirSync(at(root, path), { encoding: "latin1" }).flatMap((name) =>
    filesAt(root, `${path}/${name}`),
  );
}

function named(paths: readonly BytePath[]): string {
  const more = paths.length > NAMED_PATHS ? ` and ${paths.length - NAMED_PATHS} more` : "";
  return `${paths
    .slice(0, NAMED_PATHS)
    .map((path) => toText(path))
    .join(", ")}${more}`;
}
