/**
 * Owns what is kept for a session outside its directory: its snapshots in a store, commits and checkouts in
 * the user's repo, its ports. It is removed with the session. If that was cut off, it is found because its
 * session does not exist.
 */
import { isHoldfastError } from "../../contract/index.ts";
import { ABANDONED_MS, type Leftover } from "../../util/index.ts";
import { listLeases, releasePorts } from "../dir/port-leases.ts";
import { dropTips, listCheckouts, listTips } from "../repo/held.ts";
import { listRepos, type Repo } from "../repo/repo.ts";
import { type FoundStore, listStores } from "../store/found.ts";
import { dropSnapshots, listSnapshotSessions } from "../store/named.ts";
import type { CapsuleHome } from "./use.ts";

/** What capsules need to know about sessions. */
export interface KnownSessions {
  isThere(session: string): boolean;
  /** Whether a process has the session. */
  isBusy(session: string): boolean;
}

/** Clears what is kept for a session that is gone. If a repo does not answer now, gc tries again later. */
export async function forgetSession(home: CapsuleHome, session: string): Promise<void> {
  const leased = (await listLeases(home.dir)).filter((lease) => lease.session === session);
  const ports = leased.map(({ port }) => port);
  await releasePorts(home.dir, ports, session);
  for (const store of await listStores(home)) await orLater(() => dropSnapshots(store, session));
  for (const repo of await listRepos(home)) await orLater(() => dropTips(repo, session));
}

async function orLater(work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => {
    if (!isHoldfastError(error)) throw error;
  });
}

const left = (what: string, clear: () => Promise<void>): Leftover => {
  return { what, why: "there is no such session", isCache: true, clear };
};

/** Snapshots of an import, a fork or a deletion that was cut off. */
export async function strangeSnapshots(
  home: CapsuleHome,
  store: FoundStore,
  sessions: KnownSessions,
): Promise<Leftover[]> {
  const isOld = (changedAtMs: number) => home.io.clock.nowMs() - changedAtMs > ABANDONED_MS;
  return (await listSnapshotSessions(store))
    .filter(({ session, changedAtMs }) => !sessions.isThere(session) && isOld(changedAtMs))
    .map(({ session }) => left(`snapshots of ${session}`, () => dropSnapshots(store, session)));
}

/** Commits in the user's repo that were kept for such a session. */
export async function strangeTips(repo: Repo, sessions: KnownSessions): Promise<Leftover[]> {
  const kept = await listTips(repo).catch(() => []);
  const gone = new Set(kept.map(({ session }) => session).filter((session) => !sessions.isThere(session)));
  return [...gone].map((session) => left(`commits kept for ${session}`, () => dropTips(repo, session)));
}

/** Checkouts for sessions that were never made. A recent one may be for a session that is about to begin. */
export async function strangeCheckouts(
  home: CapsuleHome,
  repo: Repo,
  sessions: KnownSessions,
): Promise<Leftover[]> {
  return (await listCheckouts(repo).catch(() => []))
    .filter(({ session, atMs }) => !sessions.isThere(session) && home.io.clock.nowMs() - atMs > ABANDONED_MS)
    .map(({ session, ref }) => left(ref, () => dropTips(repo, session)));
}
