/**
 * Owns the making of an exact tree: a directory with the files of base and work, for those who are to see just what
 * a commit would hold: a person, a check, a tool.
 *
 * K26 Its files are those of the tree and no others: nothing ignored, nothing aside, nothing of a gitdir that an agent
 *     could write. Its gitdir is fresh; it borrows the user's objects and has copies of the work's own. It names
 *     nothing of the home, so whatever becomes of the store, git works in it.
 *
 * It is not synced: its caller knows whether it has to be.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { OnProgress } from "../../util/index.ts";
import { removeTree } from "../files/directories.ts";
import { checkOut, setIndex } from "../git/check-out.ts";
import { git } from "../git/git.ts";
import { makeGitdir, surroundingsOf } from "../gitdir/gitdir.ts";
import { treeOf } from "../repo/commits.ts";
import { objectsLink, type Repo } from "../repo/repo.ts";
import { applySnapshot } from "../snapshot/apply.ts";
import type { Contents } from "../store/contents.ts";
import type { SnapshotManifest } from "../store/manifest.ts";
import type { Store } from "../store/store.ts";
import { isOfCommit, type Work } from "./work.ts";

export interface ExactTree {
  /** Not there yet, or empty. */
  readonly directory: string;
  readonly repo: Repo;
  readonly store: Store;
  readonly snapshot: Pick<Contents, "contents"> & { readonly manifest: SnapshotManifest };
  /** The snapshot's. */
  readonly work: Work;
  /** That its git begins on, at the base: the work is what differs. */
  readonly branch: string;
  readonly onProgress?: OnProgress | undefined;
}

/** Whatever fails, nothing of it is left. */
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
  // The files that the changes were measured against; then the index of the base, to show what differs from it.
  // All of git's work is done before the agent's files are there.
  const place = { gitDir, workTree: directory };
  await Promise.all([
    lower !== null && checkOut(place, lower, { onProgress }),
    copyObjects(request, join(gitDir, "objects", "pack")),
  ]);
  if (base !== null && base !== lower) await setIndex(place, base);
  await applySnapshot(directory, store, withTreeOnly(snapshot.manifest), snapshot.contents, { onProgress });
}

/** What stands where the tree has nothing, or something else, is removed; what is not the tree's is not written. */
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
  const from = { gitDir: store.gitDir, alternates: [objectsLink(repo)] };
  const input = [Buffer.from([work.tree, ...known.map((tree) => `^${tree}`)].join("\n"))];
  const args = ["pack-objects", "--revs", "-q", "--delta-base-offset", join(packs, "pack")];
  await git(from, args, { input, config: ["pack.threads=1", "core.fsync=none"] });
}
