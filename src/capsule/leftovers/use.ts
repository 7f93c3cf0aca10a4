/**
 * Owns the question whether a capsule uses something, whoever owns that capsule.
 *
 * K11 What any of them stands on is never removed, whoever owns it.
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

/** What a home has of one repo, and who uses it. */
export interface RepoCache {
  readonly repo: Repo;
  readonly store: Store;
  readonly owners: readonly CapsuleOwner[];
  /** Of the capsules on it, whoever owns them. */
  readonly specs: readonly CapsuleSpec[];
}

export async function listCapsules(owners: readonly CapsuleOwner[]): Promise<OwnedCapsule[]> {
  return (await Promise.all(owners.map((owner) => owner.list()))).flat();
}

/** Of the capsules on a repo. */
export const specsOn = (repo: Repo, capsules: readonly OwnedCapsule[]): CapsuleSpec[] =>
  capsules.flatMap(({ spec }) => (spec?.repo === repo.key ? [spec] : []));

/** Looked at again under the lock that capsules are made under: one may have begun to use it meanwhile. */
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
