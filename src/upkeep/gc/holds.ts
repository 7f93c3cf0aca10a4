/**
 * Owns what of the user's repo this home keeps from the user's own garbage collection: the commits that its capsules
 * and snapshots stand on.
 *
 * G2 A home lets go of its own holds only, and only of those that nothing in it needs.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import {
  type CapsuleSpec,
  dropTips,
  hasObject,
  heldCommits,
  holdCommit,
  holdOf,
  listBases,
  listCheckouts,
  listManifestBases,
  listRepos,
  openStore,
  type Repo,
  releaseCommit,
} from "../../capsule/index.ts";
import { isHoldfastError } from "../../contract/index.ts";
import type { Home } from "../../home/index.ts";
import type { RepoCache } from "./cache-leftovers.ts";
import { capsuleOwners, listCapsules, specsOn, unlessUsed } from "./capsules.ts";

/** One that is young may be for a capsule that is being made right now. */
const YOUNG_MS = 60 * 60 * 1000;

export interface UnneededHold {
  readonly ref: string;
  release(): Promise<void>;
}

export async function unneededHolds(
  home: Home,
  { repo, owners, specs }: Omit<RepoCache, "store">,
): Promise<UnneededHold[]> {
  const held = await heldCommits(repo).catch(() => []);
  if (held.length === 0) return [];
  const needed = await neededCommits(home, repo, specs);
  if (!needed) return [];
  const isOld = (commit: string) => {
    const stats = statSync(join(repo.gitDir, holdOf(repo, commit)), { throwIfNoEntry: false });
    return !stats || home.io.clock.nowMs() - stats.mtimeMs > YOUNG_MS;
  };
  return held
    .filter((commit) => !needed.has(commit) && isOld(commit))
    .map((commit) => ({
      ref: holdOf(repo, commit),
      release: () =>
        unlessUsed(
          owners,
          repo,
          ({ base, lower }) => base === commit || lower === commit,
          () => releaseCommit(repo, commit),
        ),
    }));
}

/** Checkouts that sessions were to begin with that never were: young ones may be about to. */
export async function strayCheckouts(
  home: Home,
  repo: Repo,
  sessions: ReadonlySet<string>,
): Promise<UnneededHold[]> {
  return (await listCheckouts(repo).catch(() => []))
    .filter(({ session, atMs }) => !sessions.has(session) && home.io.clock.nowMs() - atMs > YOUNG_MS)
    .map(({ session, ref }) => ({ ref, release: () => dropTips(repo, session) }));
}

/** What was held under a name that all homes shared, or that this one had elsewhere, gets a name of its own. */
export async function renewHolds(home: Home): Promise<void> {
  const capsules = await listCapsules(capsuleOwners(home));
  for (const repo of await listRepos(home)) {
    const held = new Set(await heldCommits(repo).catch(() => []));
    for (const commit of (await neededCommits(home, repo, specsOn(repo, capsules))) ?? [])
      if (!held.has(commit) && (await hasObject(repo, commit))) await holdCommit(repo, commit);
  }
}

/** Undefined where a snapshot can't be read: it may need any of them. */
async function neededCommits(
  home: Home,
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
