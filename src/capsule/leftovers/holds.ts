/**
 * Owns the holds of this home in the user's repo: refs that keep the commits that its capsules and snapshots
 * stand on from the user's own garbage collection.
 *
 * holds-1 A home releases only its own holds, and only those that nothing in it needs.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { isHoldfastError } from "../../contract/index.ts";
import { ABANDONED_MS, type Leftover } from "../../util/index.ts";
import { listBases } from "../base/bases.ts";
import type { CapsuleSpec } from "../dir/capsule-dir.ts";
import type { CapsuleOwner } from "../life/owner.ts";
import { hasObject } from "../repo/commits.ts";
import { heldCommits, holdCommit, holdOf, releaseCommit } from "../repo/held.ts";
import { listRepos, type Repo } from "../repo/repo.ts";
import { listManifestBases } from "../store/named.ts";
import { openStore } from "../store/store.ts";
import { type CapsuleHome, listCapsules, type RepoCache, specsOn, unlessUsed } from "./use.ts";

/** A recent hold may be for a capsule that is being made right now. */
export async function unneededHolds(
  home: CapsuleHome,
  { repo, owners, specs }: RepoCache,
): Promise<Leftover[]> {
  const held = await heldCommits(repo).catch(() => []);
  if (held.length === 0) return [];
  const needed = await neededCommits(home, repo, specs);
  if (!needed) return [];
  const isOld = (commit: string) => {
    const stats = statSync(join(repo.gitDir, holdOf(repo, commit)), { throwIfNoEntry: false });
    return !stats || home.io.clock.nowMs() - stats.mtimeMs > ABANDONED_MS;
  };
  return held
    .filter((commit) => !needed.has(commit) && isOld(commit))
    .map((commit) => ({
      what: holdOf(repo, commit),
      why: "no snapshot needs it any more",
      isCache: true,
      clear: () =>
        unlessUsed(
          owners,
          repo,
          ({ base, lower }) => base === commit || lower === commit,
          () => releaseCommit(repo, commit),
        ),
    }));
}

/**
 * Holds under a name that all homes shared, or that this home had in another place, get a new name of this
 * home.
 */
export async function renewHolds(home: CapsuleHome, owners: readonly CapsuleOwner[]): Promise<void> {
  const capsules = await listCapsules(owners);
  for (const repo of await listRepos(home)) {
    const held = new Set(await heldCommits(repo).catch(() => []));
    for (const commit of (await neededCommits(home, repo, specsOn(repo, capsules))) ?? [])
      if (!held.has(commit) && (await hasObject(repo, commit))) await holdCommit(repo, commit);
  }
}

/** Undefined if a snapshot can't be read: it may need any of them. */
async function neededCommits(
  home: CapsuleHome,
  repo: Repo,
  specs: readonly CapsuleSpec[],
): Promise<ReadonlySet<string> | undefined> {
  const store = await openStore(repo, home.io.disk);
  try {
    const needed = [
      ...specs.flatMap(({ base, lower }) => [base, lower]),
      ...(await listBases(repo)).map(({ commit }) => commit),
      ...(await listManifestBases(store)),
    ];
    return new Set(needed.filter((commit) => commit !== null));
  } catch (error) {
    if (isHoldfastError(error, "git_failed")) return undefined;
    throw error;
  }
}
