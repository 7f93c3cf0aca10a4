/**
 * Owns the checkout as it is, as a commit on its HEAD: what `git add -A` would take, with the user's own
 * settings and filters, so that the same files are clean where the commit is checked out. The user's index is
 * copied and never written. Nested repos that are not submodules are left out.
 *
 * dirty-1 Working tree, index, refs and config of the user stay as they were. The only addition is one
 *    commit, under a hidden ref.
 */
import { copyFile, mkdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { errorCode } from "../../util/index.ts";
import { type BytePath, toBytes, toText } from "../files/path.ts";
import type { GitPlace } from "../git/git.ts";
import { userGit } from "../git/user-git.ts";
import { treeOf } from "../repo/commits.ts";
import { keepCheckout } from "../repo/held.ts";
import { resolveCommit } from "../repo/refs.ts";
import { type Repo, userPlace } from "../repo/repo.ts";
import { userIdentity } from "../repo/settings.ts";
import { commitWork } from "./work.ts";

export interface DirtyRequest {
  readonly session: string;
  /** A temporary directory. It must not exist yet, and is removed afterwards. */
  readonly aside: string;
  readonly atMs: number;
}

/** Returns HEAD itself if nothing is changed, and null if there is nothing at all. */
export async function commitCheckout(
  repo: Repo,
  { session, aside, atMs }: DirtyRequest,
): Promise<string | null> {
  const { checkout, headDir } = repo;
  if (checkout === null)
    throw new HoldfastError(
      "usage",
      `the repo ${repo.gitDir} is bare: it has no checkout with uncommitted changes`,
    );
  const head = await resolveCommit(repo);
  await mkdir(aside, { mode: 0o700 });
  try {
    const indexFile = join(aside, "index");
    await copyIndex(join(headDir, "index"), indexFile);
    const tree = await treeOfFiles({ gitDir: headDir, workTree: checkout, indexFile });
    if (tree === (await treeOf(repo, head))) return head;
    const identity = await userIdentity(repo);
    const message = `Checkout as it was, with uncommitted changes\n\nSession: ${session}\n`;
    const commit = await commitWork(userPlace(repo), { tree, base: head, message, identity, atMs });
    await keepCheckout(repo, session, commit);
    return commit;
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/**
 * With its time: a file that was written at the same moment as the index is then read by git, and not taken
 * for unchanged.
 */
async function copyIndex(from: string, to: string): Promise<void> {
  try {
    const seconds = Math.floor((await stat(from)).mtimeMs / 1000);
    await copyFile(from, to);
    await utimes(to, seconds, seconds);
  } catch (error) {
    // Nothing was ever added.
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

async function treeOfFiles(place: GitPlace): Promise<string> {
  const changed = await namesOf(place, ["diff-files", "-z", "--name-status", "--ignore-submodules=dirty"]);
  const isConflict = (_: string, index: number) => index % 2 === 1 && changed[index - 1] === "U";
  const [conflict] = changed.filter(isConflict);
  if (conflict !== undefined)
    throw new HoldfastError("checkout_unmerged", `${toText(conflict)} has conflicts that are not resolved`, {
      path: toText(conflict),
    });
  const others = await namesOf(place, ["ls-files", "-z", "--others", "--exclude-standard"]);
  const paths = [
    ...changed.filter((_, index) => index % 2 === 1),
    // A name that ends with a slash is a repo inside this one.
    ...others.filter((path) => !path.endsWith("/")),
  ];
  const input = [toBytes(paths.map((path) => `${path}\0`).join(""))];
  if (paths.length > 0)
    await userGit(place, ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], { input });
  // Objects that are in the index and not in a partial clone belong to HEAD.
  const tree = await userGit(place, ["write-tree", "--missing-ok"]);
  return tree.toString("latin1").trim();
}

async function namesOf(place: GitPlace, args: readonly string[]): Promise<BytePath[]> {
  return (await userGit(place, args)).toString("latin1").split("\0").filter(Boolean);
}
