/**
 * Owns what may be cleared in a home: what was left behind when something was killed, and what of its caches may go.
 * `doctor` shows it, `gc` clears it. Nothing that a session still needs is ever in the list.
 */
import {
  type CapsuleOwner,
  dropSnapshots,
  dropTips,
  listRepos,
  listSnapshotSessions,
  listTips,
  openStore,
  type Repo,
} from "../../capsule/index.ts";
import {
  ABANDONED_MS,
  type FoundStore,
  type Home,
  homeLeftovers,
  type Leftover,
  listSessionIds,
  listStores,
} from "../../home/index.ts";
import { cacheLeftovers } from "./cache-leftovers.ts";
import { capsuleLeftovers } from "./capsule-leftovers.ts";
import { capsuleOwners, listCapsules, specsOn } from "./capsules.ts";
import { strayCheckouts, unneededHolds } from "./holds.ts";

export async function findLeftovers(
  home: Home,
  owners: readonly CapsuleOwner[] = capsuleOwners(home),
): Promise<Leftover[]> {
  const capsules = await listCapsules(owners);
  const sessions = new Set<string>(await listSessionIds(home));
  const found = [...(await capsuleLeftovers(home, owners, capsules)), ...(await homeLeftovers(home))];
  for (const store of await listStores(home)) found.push(...(await strangers(home, store, sessions)));
  for (const repo of await listRepos(home)) {
    const store = await openStore(repo, home.io.disk);
    const cache = { repo, store, owners, specs: specsOn(repo, capsules) };
    found.push(...(await strangeTips(repo, sessions)));
    found.push(...(await cacheLeftovers(home, cache)));
    for (const { ref, release } of await unneededHolds(home, cache))
      found.push({ what: ref, why: "no snapshot stands on it any more", isCache: true, clear: release });
    for (const { ref, release } of await strayCheckouts(home, repo, sessions))
      found.push({ what: ref, why: "there is no such session", isCache: true, clear: release });
  }
  return found;
}

/** Snapshots of sessions that are not there: of an import, a fork or a deletion that was cut off. */
async function strangers(home: Home, store: FoundStore, sessions: ReadonlySet<string>): Promise<Leftover[]> {
  const isOld = (changedAtMs: number) => home.io.clock.nowMs() - changedAtMs > ABANDONED_MS;
  return (await listSnapshotSessions(store))
    .filter(({ session, changedAtMs }) => !sessions.has(session) && isOld(changedAtMs))
    .map(({ session }) => ({
      what: `snapshots of ${session}`,
      why: "there is no such session",
      isCache: true,
      clear: () => dropSnapshots(store, session),
    }));
}

/** Commits in the user's repo that were kept for such a session. */
async function strangeTips(repo: Repo, sessions: ReadonlySet<string>): Promise<Leftover[]> {
  const kept = await listTips(repo).catch(() => []);
  const gone = new Set(kept.map(({ session }) => session).filter((session) => !sessions.has(session)));
  return [...gone].map((session) => ({
    what: `commits kept for ${session}`,
    why: "there is no such session",
    isCache: true,
    clear: () => dropTips(repo, session),
  }));
}
