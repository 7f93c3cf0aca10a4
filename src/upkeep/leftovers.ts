/**
 * Owns what capsules can leave behind when something is killed, and what of their caches may go. `doctor` shows
 * it, `gc` clears it. Nothing that a session still needs is ever in the list.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  abandonedBuilds,
  abandonedImports,
  type CapsuleSpec,
  clearUnfinished,
  countPacks,
  dropSnapshots,
  dropTips,
  findLayer,
  forgetFiles,
  forgetLayered,
  layerDir,
  listBases,
  listLayered,
  listLayers,
  listLeases,
  listNamedSnapshots,
  listRepos,
  listSnapshotSessions,
  listTips,
  moveToTrash,
  openBase,
  openStore,
  Place,
  type Repo,
  releasePorts,
  removeTree,
  repackStore,
  type Store,
} from "../capsule/index.ts";
import { isSessionId, type SessionId } from "../contract/index.ts";
import {
  type FoundStore,
  type Home,
  listSessionIds,
  listStores,
  sessionDirOf,
  sessionsDir,
  trashDir,
} from "../home/index.ts";
import { acquireOwner, probeOwner } from "../journal/index.ts";
import { findHomeRuntimeDir, removeRuntimeDir } from "../mail/index.ts";
import { endHolder, endMarked, markedProcesses, mountedBy } from "../process/index.ts";
import { TEMPORARY_PREFIX } from "../util/index.ts";
import { type FoundCapsule, listCapsules, unlessUsed } from "./capsules.ts";
import { strayCheckouts, unneededHolds } from "./holds.ts";

export interface Leftover {
  readonly what: string;
  readonly why: string;
  /** A cache that is only old: nothing to worry about. */
  readonly isCache: boolean;
  /** What of the disk goes with it. */
  readonly paths?: readonly string[];
  /** They only get smaller. */
  readonly isRepacked?: boolean;
  clear(): Promise<void>;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** The most recently used bases of a repo stay, in use or not. */
const BASES_KEPT = 3;
const LAYER_DAYS = 7;
const MANY_PACKS = 50;
const ABANDONED_MS = 60 * 60 * 1000;

export async function findLeftovers(home: Home): Promise<Leftover[]> {
  const capsules = await listCapsules(home);
  return [
    ...unfinished(home, capsules),
    ...processes(home),
    ...sockets(home),
    ...(await temporaries(home)),
    ...(await leases(home, capsules)),
    ...(await caches(home, capsules)),
  ];
}

function unfinished(home: Home, capsules: readonly FoundCapsule[]): Leftover[] {
  return capsules
    .filter(({ id, isUnfinished }) => isUnfinished && !probeOwner(sessionDirOf(home, id)).held)
    .map(({ id, place }) => ({
      what: place.dir,
      why: "a capsule that was never finished",
      isCache: false,
      paths: [place.dir],
      // It may have been finished since.
      clear: () =>
        underLock(home, id, async () => ((await place.isThere()) ? undefined : clearUnfinished(place))),
    }));
}

/** Holders and strays of capsules that nobody works in: a session at rest costs no process. */
function processes(home: Home): Leftover[] {
  const marks = new Set(markedProcesses().map(({ mark }) => mark));
  return [...marks]
    .filter((mark) => mark.startsWith(`${sessionsDir(home)}/`))
    .flatMap((mark) => {
      const id = mark.slice(sessionsDir(home).length + 1).split("/")[0] ?? "";
      // It is what the process itself says.
      if (!isSessionId(id) || probeOwner(sessionDirOf(home, id)).held) return [];
      const holder = new Place(mark).readHolder();
      const mount = holder?.mount;
      // Whoever has not got its mount only says that it belongs there.
      if (mount !== undefined && mountedBy(mount).length === 0) return [];
      const end = () => (holder ? endHolder(holder, mark) : endMarked(mark));
      return {
        what: mark,
        why: "its processes outlived their owner",
        isCache: false,
        clear: () => underLock(home, id, end),
      };
    });
}

/** Of session processes that were killed: their sockets, and the copy of a token. */
function sockets(home: Home): Leftover[] {
  const runtime = findHomeRuntimeDir(home.dir);
  if (runtime === undefined) return [];
  return readdirSync(runtime)
    .map((name) => `sess_${name}`)
    .filter(isSessionId)
    .filter((id) => !probeOwner(sessionDirOf(home, id)).held)
    .map((id) => {
      const what = join(runtime, id.slice("sess_".length));
      const remove = async () => removeRuntimeDir(what);
      // Of a session that is gone there is no lock.
      const clear = () => (existsSync(sessionDirOf(home, id)) ? underLock(home, id, remove) : remove());
      return { what, why: "sockets of a process that is gone", isCache: false, clear };
    });
}

/** Of a question to the machine that was cut off: its directory, and what may hold a mount in it. */
async function temporaries(home: Home): Promise<Leftover[]> {
  const found: Leftover[] = [];
  for (const name of (await readdir(home.dir)).filter((one) => one.startsWith(TEMPORARY_PREFIX))) {
    const path = join(home.dir, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (!stats || home.ports.clock.nowMs() - stats.mtimeMs < ABANDONED_MS) continue;
    const clear = async () => {
      await endMarked(path);
      await removeTree(path);
    };
    found.push({ what: path, why: "left by a process that ended", isCache: false, paths: [path], clear });
  }
  return found;
}

async function leases(home: Home, capsules: readonly FoundCapsule[]): Promise<Leftover[]> {
  const leased = new Set(
    capsules.flatMap(({ id, spec }) => Object.values(spec?.ports ?? {}).map((port) => `${id} ${port}`)),
  );
  const isBusy = (session: string) => probeOwner(sessionDirOf(home, session as SessionId)).held;
  return (await listLeases(home.dir))
    .filter(({ port, session }) => !leased.has(`${session} ${port}`) && !isBusy(session))
    .map(({ port, session }) => ({
      what: `port ${port}`,
      why: `leased to ${session}, whose capsule does not have it`,
      isCache: false,
      clear: () => releasePorts(home.dir, [port], session),
    }));
}

async function caches(home: Home, capsules: readonly FoundCapsule[]): Promise<Leftover[]> {
  const found: Leftover[] = [];
  const sessions = new Set<string>(await listSessionIds(home));
  for (const store of await listStores(home)) found.push(...(await strangers(home, store, sessions)));
  for (const repo of await listRepos(home)) {
    const store = await openStore(repo, home.ports.disk);
    found.push(...(await strangeTips(repo, sessions)));
    const specs = capsules.flatMap(({ spec }) => (spec?.repo === repo.key ? [spec] : []));
    for (const path of await abandonedBuilds(repo))
      found.push({
        what: path,
        why: "a base whose builder ended",
        isCache: false,
        paths: [path],
        clear: () => removeTree(path),
      });
    for (const path of await abandonedImports(store))
      found.push({
        what: path,
        why: "objects whose writer ended",
        isCache: false,
        paths: [path],
        clear: () => removeTree(path),
      });
    found.push(...(await oldBases(home, repo, specs)), ...(await oldLayers(home, repo, store, specs)));
    found.push(...(await packed(store)));
    for (const { ref, release } of await unneededHolds(home, repo, specs))
      found.push({ what: ref, why: "no snapshot stands on it any more", isCache: true, clear: release });
    for (const { ref, release } of await strayCheckouts(home, repo, sessions))
      found.push({ what: ref, why: "there is no such session", isCache: true, clear: release });
  }
  return found;
}

/** Snapshots of sessions that are not there: of an import, a fork or a deletion that was cut off. */
async function strangers(home: Home, store: FoundStore, sessions: ReadonlySet<string>): Promise<Leftover[]> {
  const isOld = (changedAtMs: number) => home.ports.clock.nowMs() - changedAtMs > ABANDONED_MS;
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

async function oldBases(home: Home, repo: Repo, specs: readonly CapsuleSpec[]): Promise<Leftover[]> {
  const used = new Set([...specs.map(({ baseKey }) => baseKey), ...(await layerBases(repo))]);
  return (await listBases(repo)).slice(BASES_KEPT).flatMap(({ key }) => {
    if (used.has(key)) return [];
    const { dir } = openBase(repo, key);
    const clear = () =>
      unlessUsed(
        home,
        repo,
        ({ baseKey }) => baseKey === key,
        () => discard(home, dir, key),
      );
    return { what: dir, why: "a base that is not used", isCache: true, paths: [dir], clear };
  });
}

async function layerBases(repo: Repo): Promise<string[]> {
  const snapshots = [...(await listLayered(repo)).keys()];
  const layers = await Promise.all(snapshots.map((snapshot) => findLayer(repo, snapshot)));
  return layers.flatMap((layer) => layer?.baseKey ?? []);
}

/** One that is being sealed is the capsule's too, whether its rename happened or not. */
const layersOf = ({ stack, sealing }: CapsuleSpec) => (sealing === null ? stack : [sealing, ...stack]);

async function oldLayers(
  home: Home,
  repo: Repo,
  store: Store,
  specs: readonly CapsuleSpec[],
): Promise<Leftover[]> {
  const used = new Set([...specs.flatMap(layersOf), ...(await onlyCopies(repo, store))]);
  const found: Leftover[] = await brokenLayers(repo);
  for (const layer of await listLayers(repo)) {
    const path = layerDir(repo, layer);
    const ageMs = home.ports.clock.nowMs() - (await stat(path)).ctimeMs;
    if (used.has(layer) || ageMs < LAYER_DAYS * DAY_MS) continue;
    const clear = () =>
      unlessUsed(
        home,
        repo,
        (spec) => layersOf(spec).includes(layer),
        async () => {
          await forgetFiles(path);
          await discard(home, path, layer);
        },
      );
    found.push({ what: path, why: "a layer that is not used", isCache: true, paths: [path], clear });
  }
  return found;
}

/** Layers with files that no snapshot has, while a session names theirs. */
async function onlyCopies(repo: Repo, store: Store): Promise<string[]> {
  const only = [...(await listLayered(repo))].filter(([, { isOnlyCopy }]) => isOnlyCopy);
  if (only.length === 0) return [];
  const named = await listNamedSnapshots(store);
  return only.filter(([snapshot]) => named.has(snapshot)).flatMap(([, { stack }]) => stack);
}

/** What is written down of layers of which one is gone. */
async function brokenLayers(repo: Repo): Promise<Leftover[]> {
  const found: Leftover[] = [];
  for (const snapshot of (await listLayered(repo)).keys()) {
    if (await findLayer(repo, snapshot)) continue;
    // It is written down just before its layer is put there.
    const clear = async () => ((await findLayer(repo, snapshot)) ? undefined : forgetLayered(repo, snapshot));
    found.push({ what: `layers of ${snapshot}`, why: "one of them is gone", isCache: true, clear });
  }
  return found;
}

async function packed(store: Store): Promise<Leftover[]> {
  const packs = await countPacks(store);
  if (packs <= MANY_PACKS) return [];
  return [
    {
      what: store.gitDir,
      why: `${packs} packs: one will do`,
      isCache: true,
      paths: [store.gitDir],
      isRepacked: true,
      clear: () => repackStore(store),
    },
  ];
}

async function discard(home: Home, path: string, name: string): Promise<void> {
  await moveToTrash(home.ports.disk, trashDir(home), path, `${name}-${home.ports.clock.nowMs()}`);
}

async function underLock(home: Home, id: SessionId, work: () => Promise<void>): Promise<void> {
  const lock = await acquireOwner(sessionDirOf(home, id));
  try {
    await work();
  } finally {
    lock.release();
  }
}
