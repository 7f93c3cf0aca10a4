/**
 * Owns the list of those who have capsules in a home, and the question whether one of these uses something.
 *
 * K11 What any of them stands on is never removed, whoever owns it.
 */
import {
  type CapsuleOwner,
  type CapsuleSpec,
  type OwnedCapsule,
  type Repo,
  repoLock,
} from "../../capsule/index.ts";
import type { Home } from "../../home/index.ts";
import { taskCapsules } from "../../task/index.ts";
import { withFileLock } from "../../util/index.ts";

/** Whatever makes capsules is here, or what they stand on is collected under them. */
export const capsuleOwners = (home: Home): CapsuleOwner[] => [taskCapsules(home)];

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
