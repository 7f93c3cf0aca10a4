/**
 * Owns making an exact tree: a directory with the files of base and work, for a person, a check or a tool
 * that must see exactly what a commit would hold.
 *
 * exact-tree-1 It has the files of the tree and no others: nothing ignored, nothing aside, and nothing of a
 *    gitdir that an agent could write. Its gitdir is fresh: it borrows the user's objects and has copies of
 *    the work's own. It names nothing in the home, so git works in it whatever becomes of the store.
 *
 * It is not synced: the caller knows whether that is needed.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { OnProgress } from "../../util/index.ts";
import { removeTree } from "../files/directories.ts";
import { checkOut, setIndex } from "../git/check-out.ts";
import { git } from "../git/git.ts";
import { makeGitdir, surroundingsOf } from "../gitdir/gitdir.ts";
import { treeOf } from "../repo/commits.ts";
import { type Repo, withUsersObjects } from "../repo/repo.ts";
import { applySnapshot } from "../snapshot/apply.ts";
import type { Contents } from "../store/contents.ts";
import type { SnapshotManifest } from "../store/manifest.ts";
import type { Store } from "../store/store.ts";
import { isOfCommit, type Work } from "./work.ts";

export interface ExactTree {
  /** Does not exist yet, or is empty. */
  readonly directory: string;
  readonly repo: Repo;
  readonly store: Store;
  readonly snapshot: Pick<Contents, "contents"> & { readonly manifest: SnapshotManifest };
  /** The work of the snapshot. */
  readonly work: Work;
  /** The branch that its git begins on, at the base: the work is what differs. */
  readonly branch: string;
  readonly onProgress?: OnProgress | undefined;
}

/** If it fails, nothing of it is left. */
export async function makeExactTree(request: ExactTree): Promise<void> {
  await mkdir(request.directory, { recursive: true });
  try {
    await make(request);
  } catch (error) {
    await removeTree(request.directory);
    throw error;
  }
}

async function make(request: ExactTree): Promise<void> {
  const { directory, repo, store, snapshot, branch, onProgress } = request;
  const { base, lower } = snapshot.manifest;
  const gitDir = join(directory, ".git");
  const surroundings = await surroundingsOf(repo);
  await makeGitdir({ path: gitDir, repo, surroundings, branch, commit: base, objects: repo.objects });
  // First the files that the changes were measured against, then the index of the base, to show what differs
  // from it. Git finishes before the agent's files are written.
  const place = { gitDir, workTree: directory };
  await Promise.all([
    lower !== null && checkOut(place, lower, { onProgress }),
    copyObjects(request, join(gitDir, "objects", "pack")),
  ]);
  if (base !== null && base !== lower) await setIndex(place, base);
  await applySnapshot(directory, store, withTreeOnly(snapshot.manifest), snapshot.contents, { onProgress });
}

/**
 * Entries that the tree does not have, or has in another form, are removed. Files that the tree does not have
 * are not written.
 */
function withTreeOnly(manifest: SnapshotManifest): SnapshotManifest {
  const entries = manifest.entries.filter(isOfCommit);
  const others = manifest.entries.filter((entry) => !isOfCommit(entry) && entry.kind !== "dir");
  const gone = [...manifest.gone, ...others.map(({ path }) => path)];
  return { ...manifest, entries, gone: gone.filter((path) => path !== ".git" && !path.startsWith(".git/")) };
}

/** The work's trees and contents, which only the store has. */
async function copyObjects({ repo, store, snapshot, work }: ExactTree, packs: string): Promise<void> {
  const { base, lower } = snapshot.manifest;
  const known = [await treeOf(repo, base), await treeOf(repo, lower)];
  if (known.includes(work.tree)) return;
  await mkdir(packs);
  const from = withUsersObjects(store, repo);
  const input = [Buffer.from([work.tree, ...known.map((tree) => `^${tree}`)].join("\n"))];
  const args = ["pack-objects", "--revs", "-q", "--delta-base-offset", join(packs, "pack")];
  await git(from, args, { input, config: ["pack.threads=1", "core.fsync=none"] });
}
