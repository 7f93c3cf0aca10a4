/**
 * Owns the gitdir that a commit is pushed from: a fresh one that has never held anything of an agent or of a
 * set-up. It borrows the user's objects, and has a pack of what only the store has.
 *
 * push-dir-1 It contains the objects of the commit and nothing else that an agent could have written: no
 *    config, no hook, no ref.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { git } from "../git/git.ts";
import { makeGitdir, noSurroundings } from "../gitdir/gitdir.ts";
import { type Repo, withUsersObjects } from "../repo/repo.ts";
import { readShallow } from "../repo/settings.ts";
import type { Store } from "../store/store.ts";

export interface PushDir {
  /** Does not exist yet. */
  readonly path: string;
  readonly repo: Repo;
  readonly store: Store;
  readonly commit: string;
  /** The commit that it stands on. */
  readonly base: string | null;
}

export async function makePushDir({ path, repo, store, commit, base }: PushDir): Promise<void> {
  const surroundings = { ...noSurroundings, shallow: readShallow(repo) };
  await makeGitdir({ path, repo, surroundings, branch: "pushed", commit });
  const packs = join(path, "objects", "pack");
  await mkdir(packs);
  if (commit === base) return;
  const from = withUsersObjects(store, repo);
  const input = [Buffer.from(`${commit}\n${base === null ? "" : `^${base}\n`}`)];
  const args = ["pack-objects", "--revs", "-q", "--delta-base-offset", join(packs, "pack")];
  await git(from, args, { input, config: ["pack.threads=1", "core.fsync=none"] });
}
