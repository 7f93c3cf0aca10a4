/**
 * Owns the list of what may be cleared from a repo's caches in a home: bases and layers that no capsule
 * stands on, packs that can be combined into one, and what builders and writers left that were killed. All of
 * it can be made again.
 */
import { stat } from "node:fs/promises";
import { type Leftover, trashDir } from "../../util/index.ts";
import { abandonedBuilds, listBases, openBase } from "../base/bases.ts";
import type { CapsuleSpec } from "../dir/capsule-dir.ts";
import { moveToTrash, removeTree } from "../files/directories.ts";
import { forgetFiles } from "../layer/known-files.ts";
import { findLayer, forgetLayered, layerDir, listLayered, listLayers } from "../layer/layers.ts";
import type { Repo } from "../repo/repo.ts";
import { listNamedSnapshots } from "../store/named.ts";
import { abandonedImports } from "../store/objects.ts";
import { countPacks, repackStore } from "../store/packing.ts";
import type { Store } from "../store/store.ts";
import { type CapsuleHome, type RepoCache, unlessUsed } from "./use.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** The most recently used bases of a repo stay, in use or not. */
const BASES_KEPT = 3;
const LAYER_DAYS = 7;
const MANY_PACKS = 50;

export async function cacheLeftovers(home: CapsuleHome, cache: RepoCache): Promise<Leftover[]> {
  const { repo, store } = cache;
  const left = (why: string) => (path: string) => ({
    what: path,
    why,
    isCache: false,
    paths: [path],
    clear: () => removeTree(path),
  });
  return [
    ...(await abandonedBuilds(repo)).map(left("a base whose builder ended")),
    ...(await abandonedImports(store)).map(left("objects whose writer ended")),
    ...(await oldBases(home, cache)),
    ...(await oldLayers(home, cache)),
    ...(await packed(store)),
  ];
}

async function oldBases(home: CapsuleHome, { repo, owners, specs }: RepoCache): Promise<Leftover[]> {
  const used = new Set([...specs.map(({ baseKey }) => baseKey), ...(await layerBases(repo))]);
  return (await listBases(repo)).slice(BASES_KEPT).flatMap(({ key }) => {
    if (used.has(key)) return [];
    const { dir } = openBase(repo, key);
    const clear = () =>
      unlessUsed(
        owners,
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

/** A layer that is being sealed belongs to the capsule too, whether its rename happened or not. */
const layersOf = ({ stack, sealing }: CapsuleSpec) => (sealing === null ? stack : [sealing, ...stack]);

async function oldLayers(home: CapsuleHome, { repo, store, owners, specs }: RepoCache): Promise<Leftover[]> {
  const used = new Set([...specs.flatMap(layersOf), ...(await onlyCopies(repo, store))]);
  const found: Leftover[] = await brokenLayers(repo);
  for (const layer of await listLayers(repo)) {
    const path = layerDir(repo, layer);
    const ageMs = home.io.clock.nowMs() - (await stat(path)).ctimeMs;
    if (used.has(layer) || ageMs < LAYER_DAYS * DAY_MS) continue;
    const clear = () =>
      unlessUsed(
        owners,
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

/** Layers with files that are in no snapshot, while a session names the snapshot of such a layer. */
async function onlyCopies(repo: Repo, store: Store): Promise<string[]> {
  const only = [...(await listLayered(repo))].filter(([, { isOnlyCopy }]) => isOnlyCopy);
  if (only.length === 0) return [];
  const named = await listNamedSnapshots(store);
  return only.filter(([snapshot]) => named.has(snapshot)).flatMap(([, { stack }]) => stack);
}

/** The descriptions of layers of which one is gone. */
async function brokenLayers(repo: Repo): Promise<Leftover[]> {
  const found: Leftover[] = [];
  for (const snapshot of (await listLayered(repo)).keys()) {
    if (await findLayer(repo, snapshot)) continue;
    // The description is written just before its layer is put in place.
    const clear = async () => ((await findLayer(repo, snapshot)) ? undefined : forgetLayered(repo, snapshot));
    found.push({ what: `layers of ${snapshot}`, why: "one of them is missing", isCache: true, clear });
  }
  return found;
}

async function packed(store: Store): Promise<Leftover[]> {
  const packs = await countPacks(store);
  if (packs <= MANY_PACKS) return [];
  return [
    {
      what: store.gitDir,
      why: `${packs} packs, which can be one`,
      isCache: true,
      paths: [store.gitDir],
      isRepacked: true,
      clear: () => repackStore(store),
    },
  ];
}

async function discard(home: CapsuleHome, path: string, name: string): Promise<void> {
  await moveToTrash(home.io.disk, trashDir(home.dir), path, `${name}-${home.io.clock.nowMs()}`);
}
