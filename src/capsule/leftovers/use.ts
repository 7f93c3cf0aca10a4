/**
 * Owns the question whether a capsule uses something, whichever part owns that capsule.
 *
 * base-2 What any capsule stands on is never removed, whichever part owns the capsule.
 */
import { type Clock, type Disk, withFileLock } from "../../util/index.ts";
import type { CapsuleSpec } from "../dir/capsule-dir.ts";
import type { CapsuleOwner, OwnedCapsule } from "../life/owner.ts";
import { type HomePlace, type Repo, repoLock } from "../repo/repo.ts";
import type { Store } from "../store/store.ts";

/** The home whose leftovers are looked for. */
export interface CapsuleHome extends HomePlace {
  readonly io: { readonly disk: Disk; readonly clock: Clock };
}

/** What a home has of one repo, and the capsules that use it. */
export interface RepoCache {
  readonly repo: Repo;
  readonly store: Store;
  readonly owners: readonly CapsuleOwner[];
  /** The capsules that stand on it, of all owners. */
  readonly specs: readonly CapsuleSpec[];
}

export async function listCapsules(owners: readonly CapsuleOwner[]): Promise<OwnedCapsule[]> {
  return (await Promise.all(owners.map((owner) => owner.list()))).flat();
}

/** Of the capsules on a repo. */
export const specsOn = (repo: Repo, capsules: readonly OwnedCapsule[]): CapsuleSpec[] =>
  capsules.flatMap(({ spec }) => (spec?.repo === repo.key ? [spec] : []));

/** Checked again under the lock under which capsules are made: one may have begun to use it meanwhile. */
export async function unlessUsed(
  owners: readonly CapsuleOwner[],
  repo: Repo,
  uses: (spec: CapsuleSpec) => boolean,
  work: () => Promise<void>,
): Promise<void> {
  await withFileLock(repoLock(repo), async () => {
    if (!specsOn(repo, await listCapsules(owners)).some(uses)) await work();
  });
}
