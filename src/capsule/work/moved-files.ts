/**
 * Owns the files of the user's working tree that move along with its branch. The user's own git does all of
 * it: their filters run, their hooks do not.
 */
import { lstatSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { deadline, systemClock } from "../../util/index.ts";
import { ancestorsOf, type BytePath, toBytes, toText } from "../files/path.ts";
import { GITLINK_MODE, NO_MODE, type RawChange, rawDiff } from "../git/raw-diff.ts";
import { userGit } from "../git/user-git.ts";
import { takeBack, type Update, updateOf } from "./move-back.ts";
import type { WorkTree } from "./work-trees.ts";

const NAMED_PATHS = 5;
/** How long another git may have the index locked: an editor that asks for the status has it for a moment. */
const LOCKED_MS = 2000;
/** Another git announces nothing when it lets go of its lock. */
const RETRY_MS = 50;

const placeOf = ({ path, gitDir }: WorkTree) => ({ gitDir, workTree: path });

/** Undefined if it is clean. Untracked files make no difference. */
export async function whyNotClean(tree: WorkTree): Promise<string | undefined> {
  const args = ["status", "--porcelain", "-z", "--untracked-files=no", "--no-renames"];
  const out = await userGit(placeOf(tree), [...args, "--ignore-submodules=dirty"]);
  const rows = out.toString("latin1").split("\0").filter(Boolean);
  return rows.length === 0 ? undefined : `${named(rows.map((row) => row.slice(3)))} changed`;
}

/** An update of the user's files that nothing is in the way of. */
export interface FileUpdate {
  /** If it fails, the files are brought back. */
  bring(): Promise<void>;
  /** Brings back the files of an update that was complete. Returns why it could not. */
  undo(): Promise<string | undefined>;
}

/** Fails if an uncommitted file would be lost, or if the index can't be written. */
export async function updateFiles(tree: WorkTree, from: string, to: string): Promise<FileUpdate> {
  const changes = await rawDiff({ gitDir: tree.gitDir }, from, to);
  const lost = inTheWay(tree, changes);
  if (lost.length > 0)
    throw new HoldfastError(
      "merge_refused",
      `the merge would overwrite ${named(lost)}, which is not committed in ${tree.path}: move it away first`,
      { paths: lost.map((path) => toText(path)) },
    );
  const update = updateOf(tree, changes);
  // After this, git does not report files whose time alone has changed.
  await write(tree, ["update-index", "-q", "--refresh", "--ignore-submodules"]);
  return {
    bring: () => write(tree, ["read-tree", "-m", "-u", from, to], update),
    undo: () =>
      writing(tree, ["read-tree", "-m", "-u", to, from]).then(
        () => undefined,
        (error: Error) => error.message,
      ),
  };
}

/** `update`: what it changes in the working tree. It is taken back if git fails. */
async function write(tree: WorkTree, args: readonly string[], update?: Update): Promise<void> {
  try {
    await writing(tree, args);
  } catch (error) {
    if (!isHoldfastError(error, "git_failed")) throw error;
    // A git that refused changed nothing: what differs is a person's. Nor did one that did not get another's lock.
    const hasBegun = update && !isLockedOut(error) && !isRefusal(error);
    const left = hasBegun ? await takeBack(tree, update) : [];
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

/** Waits for a git that has the index locked. */
async function writing(tree: WorkTree, args: readonly string[]): Promise<void> {
  const until = deadline(systemClock, LOCKED_MS);
  for (;;) {
    try {
      await userGit(placeOf(tree), args, { isWriting: true });
      return;
    } catch (error) {
      if (!isHoldfastError(error, "git_failed") || !isLockedOut(error) || until.isPast) throw error;
    }
    // A lock that goes away tells nobody.
    await sleep(RETRY_MS);
  }
}

/** Git looks at all files before it writes the first of them. These are its words for what it finds in the way. */
const isRefusal = ({ message }: HoldfastError) =>
  /Cannot merge\.|would be (overwritten|removed) by merge|would lose untracked files in it/.test(message);

/** `update-index -q` gives no reason. */
const isLockedOut = ({ message }: HoldfastError) =>
  /Another git process seems to be running|update-index ended with 128: $/.test(message);

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
