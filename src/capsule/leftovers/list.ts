/**
 * Owns the list of what capsules and their surroundings left in a home, and of what may be cleared from their
 * caches. It never contains anything that a capsule or a session still needs.
 */
import type { Leftover } from "../../util/index.ts";
import type { CapsuleOwner } from "../life/owner.ts";
import { listRepos } from "../repo/repo.ts";
import { listStores } from "../store/found.ts";
import { openStore } from "../store/store.ts";
import { cacheLeftovers } from "./caches.ts";
import { cgroups, leases, processes, unfinished } from "./capsules.ts";
import { unneededHolds } from "./holds.ts";
import { type KnownSessions, strangeCheckouts, strangeSnapshots, strangeTips } from "./strangers.ts";
import { type CapsuleHome, listCapsules, specsOn } from "./use.ts";

/**
 * `owners` must be those of all capsules of the home; otherwise what the missing ones stand on would be
 * listed (base-2).
 */
export async function capsuleLeftovers(
  home: CapsuleHome,
  owners: readonly CapsuleOwner[],
  sessions: KnownSessions,
): Promise<Leftover[]> {
  const capsules = await listCapsules(owners);
  const found = [
    ...unfinished(capsules),
    ...processes(owners),
    ...cgroups(home, owners, sessions),
    ...(await leases(home.dir, capsules, sessions)),
  ];
  for (const store of await listStores(home)) found.push(...(await strangeSnapshots(home, store, sessions)));
  for (const repo of await listRepos(home)) {
    const store = await openStore(repo, home.io.disk);
    const cache = { repo, store, owners, specs: specsOn(repo, capsules) };
    found.push(
      ...(await strangeTips(repo, sessions)),
      ...(await cacheLeftovers(home, cache)),
      ...(await unneededHolds(home, cache)),
      ...(await strangeCheckouts(home, repo, sessions)),
    );
  }
  return found;
}
