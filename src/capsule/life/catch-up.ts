/**
 * Owns catching up: what a person committed meanwhile goes into the files that a task carries on. It works
 * path by path: what the person changed and the session did not is changed; a path that both changed is a
 * conflict, and then nothing is.
 *
 * catch-up-1 Work of the session and work of the person are never mixed within a file, and neither replaces
 *    the other.
 *
 * A crash does no harm: some files already have the person's content, and the next attempt gives it to all of
 * them.
 */
import { rmdirSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { errorCode } from "../../util/index.ts";
import { contentId } from "../files/changes.ts";
import { Cursor } from "../files/cursor.ts";
import { removeTree } from "../files/directories.ts";
import type { OpenDir } from "../files/open-dir.ts";
import { ancestorsOf, type BytePath, nameOf, parentOf, toBytes, toText } from "../files/path.ts";
import type { View } from "../files/view.ts";
import { setIndex } from "../git/check-out.ts";
import { ConfinedGit } from "../git/confined.ts";
import type { GitPlace } from "../git/git.ts";
import { GITLINK_MODE, NO_MODE, rawDiff } from "../git/raw-diff.ts";
import { AgentGit } from "../gitdir/agent-git.ts";
import { makeGitdir, noSurroundings } from "../gitdir/gitdir.ts";
import { treeOf } from "../repo/commits.ts";
import { holdCommit } from "../repo/held.ts";
import { isAncestor } from "../repo/refs.ts";
import { type Repo, userPlace, withUsersObjects } from "../repo/repo.ts";
import { copyIndex } from "../snapshot/classify.ts";
import type { Store } from "../store/store.ts";
import type { Capsule } from "./capsule.ts";

export interface Difference {
  /** The commit that the carried files stand on. */
  readonly from: string | null;
  /** The commit that they will stand on. */
  readonly to: string | null;
}

interface Change {
  readonly path: BytePath;
  /** Null if it is gone. */
  readonly now: { readonly mode: string; readonly id: string } | null;
  readonly isNew: boolean;
}

type Changes = ReadonlyMap<BytePath, Change>;

const TIMEOUT_MS = 5 * 60_000;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const NAMED_PATHS = 10;

/** Fails if both sides changed the same path. Returns what the person changed. */
export async function differenceFor(
  repo: Repo,
  store: Store,
  { from, to }: Difference,
  carriedTree: string,
): Promise<Changes> {
  const before = await treeOf(repo, from);
  const theirs = await changesBetween(userPlace(repo), before, await treeOf(repo, to));
  const withWork = withUsersObjects(store, repo);
  const ours = await changesBetween(withWork, before, carriedTree);
  refuseConflicts(conflictsOf(theirs, ours));
  return theirs;
}

async function changesBetween(place: GitPlace, from: string, to: string): Promise<Map<BytePath, Change>> {
  const changes = (await rawDiff(place, from, to)).map(({ path, oldMode, mode, id }) => ({
    path,
    now: mode === NO_MODE ? null : { mode, id },
    isNew: oldMode === NO_MODE,
  }));
  return new Map(changes.map((change) => [change.path, change]));
}

function conflictsOf(theirs: Changes, ours: Changes): BytePath[] {
  const ownFiles = [...ours.values()].filter(({ now }) => now !== null).map(({ path }) => path);
  const ownDirs = new Set(ownFiles.flatMap(ancestorsOf));
  const own = new Set(ownFiles);
  return [...theirs.values()]
    .filter(({ path, now }) => {
      const mine = ours.get(path);
      if (mine) return mine.now?.id !== now?.id || mine.now?.mode !== now?.mode;
      // One side has a file where the other has a directory.
      return now !== null && (ownDirs.has(path) || ancestorsOf(path).some((dir) => own.has(dir)));
    })
    .map(({ path }) => path);
}

function refuseConflicts(paths: readonly BytePath[]): void {
  if (paths.length === 0) return;
  const names = paths.map((path) => toText(path));
  const more = names.length > NAMED_PATHS ? ` and ${names.length - NAMED_PATHS} more` : "";
  throw new HoldfastError(
    "work_conflicts",
    `commits on the session's branch and the session's own work change the same: ${names.slice(0, NAMED_PATHS).join(", ")}${more}. Begin with --fresh, name a commit with --base, or take the files with handoff and bring the two together`,
    { paths: names },
  );
}

/** Applies the person's changes to the files. Nothing runs in the capsule meanwhile. */
export async function catchUp(capsule: Capsule, to: string, theirs: Changes): Promise<void> {
  const view = await capsule.attach();
  const { repo, layout, sandbox } = capsule;
  refuseConflicts(inTheWay(view, theirs, repo.objectFormat));
  const gitDir = join(layout.dir, "catching-up");
  await removeTree(gitDir);
  try {
    await makeGitdir({ path: gitDir, repo, surroundings: noSurroundings, branch: "none", commit: to });
    await setIndex({ gitDir }, to);
    // The agent's attributes affect what git writes.
    const confined = new ConfinedGit({ gitDir, view, sandbox, config: ["core.fsync=none"] });
    removeGone(view, theirs);
    await writeNew(confined, gitDir, theirs);
    await follow(capsule, view, confined, gitDir, to);
    await capsule.give();
  } finally {
    await removeTree(gitDir);
  }
}

/** The same for a capsule whose task stays: from then on its work is measured against that commit. */
export async function moveOnto(capsule: Capsule, to: string, theirs: Changes): Promise<void> {
  await capsule.detach();
  await holdCommit(capsule.repo, to);
  await capsule.unsettle();
  await catchUp(capsule, to, theirs);
  await capsule.update({ ...capsule.spec, base: to });
}

/** What is in the place of a new file of the person's and is in no tree, for example an ignored file. */
function inTheWay(view: View, theirs: Changes, algorithm: "sha1" | "sha256"): BytePath[] {
  using cursor = new Cursor(view.root);
  const isOther = (dir: OpenDir, name: BytePath, id: string) => {
    const stats = dir.stat(name);
    if (!stats) return false;
    if (stats.isSymbolicLink()) return contentId(algorithm, [dir.link(name)]) !== id;
    if (!stats.isFile()) return true;
    using file = dir.file(name);
    return contentId(algorithm, file.chunks(), file.size) !== id;
  };
  const added = [...theirs.values()].filter(({ isNew, now }) => isNew && now !== null);
  const isNoDir = (dir: OpenDir, name: BytePath) => dir.stat(name)?.isDirectory() === false;
  // Paths that the person removed do not count.
  const dirs = [...new Set(added.flatMap(({ path }) => ancestorsOf(path)))].filter((dir) => !theirs.has(dir));
  return [
    ...dirs.filter((dir) => cursor.inParent(dir, isNoDir)),
    ...added
      .filter(({ now }) => now?.mode !== GITLINK_MODE)
      .filter(({ path, now }) => cursor.inParent(path, (dir, name) => isOther(dir, name, now?.id ?? "")))
      .map(({ path }) => path),
  ];
}

/**
 * Also removes directories that are empty then, as git does. Anything else in them is in no tree, and stays.
 */
function removeGone(view: View, theirs: Changes): void {
  using cursor = new Cursor(view.root);
  for (const { path, now } of theirs.values()) {
    if (now !== null) continue;
    cursor.inParent(path, (dir, name) => {
      if (!removeIfEmpty(dir, name) && !dir.stat(name)?.isDirectory()) rmSync(dir.at(name), { force: true });
    });
    for (let above = parentOf(path); above !== ""; above = parentOf(above))
      if (!cursor.inParent(above, removeIfEmpty)) break;
  }
}

function removeIfEmpty(dir: OpenDir, name: BytePath): boolean {
  try {
    rmdirSync(dir.at(name));
    return true;
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "ENOTDIR", "ENOENT"].includes(errorCode(error) ?? "")) return false;
    throw error;
  }
}

/** Attributes first: they decide how the others are written. */
async function writeNew(confined: ConfinedGit, gitDir: string, theirs: Changes): Promise<void> {
  const paths = [...theirs.values()].filter(({ now }) => now !== null).map(({ path }) => path);
  const isAttributes = (path: BytePath) => nameOf(path) === ".gitattributes";
  for (const some of [paths.filter(isAttributes), paths.filter((path) => !isAttributes(path))]) {
    if (some.length === 0) continue;
    const input = [toBytes(some.map((path) => `${path}\0`).join(""))];
    const question = { input, timeoutMs: TIMEOUT_MS, maxOutputBytes: 0, writable: [gitDir] };
    if (!(await confined.ask(["checkout-index", "-f", "-u", "-z", "--stdin"], question)))
      throw new HoldfastError(
        "git_failed",
        "git could not write the files of the session's branch into the capsule",
      );
  }
}

/**
 * Moves the agent's own branch too, if that is a fast-forward and nothing is staged: its git shows what it
 * did, and not what others did meanwhile. Otherwise its git stays as it is.
 */
async function follow(
  { repo, layout }: Capsule,
  view: View,
  confined: ConfinedGit,
  gitDir: string,
  to: string,
): Promise<void> {
  const own = new AgentGit(view.root);
  const { branch, commit } = own.head;
  if (branch === null || commit === undefined || own.unfinished !== undefined) return;
  if (!(await isAncestor(repo, commit, to))) return;
  const indexFile = join(layout.dir, "catching-up", "staged");
  if (!copyIndex(view, indexFile)) return;
  const question = { timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_ANSWER_BYTES };
  const staged = await confined.ask(["diff-index", "--cached", "--quiet", commit], {
    ...question,
    indexFile,
    readable: [indexFile],
  });
  if (!staged) return;
  // With the stamps of the files, so that the agent's git need not read them all.
  const refresh = { ...question, accept: [0, 1], writable: [gitDir] };
  if (!(await confined.ask(["update-index", "-q", "--refresh"], refresh))) return;
  own.moveBranch(branch, to, await readFile(join(gitDir, "index")));
}
