/**
 * Owns sealed layers: the upper layer of a capsule, stored under the name of the snapshot that was taken of
 * it, so that the next task and every fork can stand on it at once. A layer is a cache of its snapshot and
 * can be thrown away, with one exception: if the snapshot leaves out files that the layer has, the layer
 * stays while a session names that snapshot.
 *
 * layer-1 A layer is sealed only after everything that could write to it has ended, so it is equal to its
 *    snapshot.
 */
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  type Disk,
  openSealedJson,
  readIfThere,
  replaceFile,
  reposDir,
  sealJson,
  sha256Hex,
  withFileLock,
} from "../../util/index.ts";
import type { CapsuleDir, CapsuleSpec } from "../dir/capsule-dir.ts";
import { syncFileSystem } from "../files/directories.ts";
import { type Repo, repoLock } from "../repo/repo.ts";
import { listNamedSnapshots } from "../store/named.ts";
import { openStore } from "../store/store.ts";

/** More layers than this are flattened: mount options have a limit of about 30 layers. */
export const MAX_LAYERS = 16;

export const layersDir = (repo: Pick<Repo, "dir">) => join(repo.dir, "layers");
export const layerDir = (repo: Pick<Repo, "dir">, name: string) => join(layersDir(repo), name);
const infoFile = (repo: Pick<Repo, "dir">, snapshot: string) => join(layersDir(repo), `${snapshot}.json`);

/** The layers that a capsule of a home stands on. */
export const layerDirsOf = (homeDir: string, { repo, stack }: Pick<CapsuleSpec, "repo" | "stack">) =>
  stack.map((layer) => layerDir({ dir: join(reposDir(homeDir), repo) }, layer));

/** The layers that show the files of a snapshot. */
export interface Layer {
  /** Names of layers, topmost first. */
  readonly stack: readonly string[];
  readonly baseKey: string;
  /** Whether the snapshot leaves out files that these layers have. */
  readonly isOnlyCopy: boolean;
}

/** The layers that show the files of a snapshot, if all of them exist. */
export async function findLayer(repo: Repo, snapshot: string): Promise<Layer | undefined> {
  const layer = await readInfo(repo, snapshot);
  return layer?.stack.every((name) => existsSync(layerDir(repo, name))) ? layer : undefined;
}

async function readInfo(repo: Repo, snapshot: string): Promise<Layer | undefined> {
  const bytes = await readIfThere(infoFile(repo, snapshot));
  const info = bytes && openSealedJson(bytes);
  if (!info || !Array.isArray(info["stack"]) || typeof info["baseKey"] !== "string") return undefined;
  const { stack, baseKey, isOnlyCopy } = info;
  return { stack: stack.map(String), baseKey, isOnlyCopy: isOnlyCopy === true };
}

async function writeInfo(disk: Disk, repo: Repo, snapshot: string, layer: Layer): Promise<void> {
  await replaceFile(disk, infoFile(repo, snapshot), sealJson({ ...layer }));
}

export interface Sealing {
  readonly snapshot: string;
  /** Whether the snapshot leaves out files that the capsule has. */
  readonly hasOmitted: boolean;
  /** A sync of the upper layer that began after the last write to it, if there was one. */
  readonly synced?: Promise<void> | undefined;
}

/**
 * Seals the upper layer of a detached capsule whose snapshot was just taken. Returns the new description of
 * the capsule.
 */
export async function sealUpper(
  disk: Disk,
  repo: Repo,
  layout: CapsuleDir,
  spec: CapsuleSpec,
  { snapshot, hasOmitted, synced }: Sealing,
): Promise<CapsuleSpec> {
  const { baseKey, stack } = spec;
  if (baseKey === null) return spec;
  await mkdir(layersDir(repo), { recursive: true, mode: 0o700 });
  const below = { baseKey, isOnlyCopy: hasOmitted };
  const hasUpper = existsSync(layout.upper) && readdirSync(layout.upper).length > 0;
  // The very same snapshot was taken a moment ago.
  const isSealed = existsSync(layerDir(repo, snapshot));
  if (isSealed || (!hasUpper && stack.length > 0)) {
    // Nothing was written: the files of the snapshot are those of the layers below.
    if (!isSealed) await writeInfo(disk, repo, snapshot, { ...below, stack });
    const settled = { ...spec, settled: snapshot };
    await layout.writeSpec(disk, settled);
    return settled;
  }
  await (synced ?? syncFileSystem(layout.upper));
  const sealed: CapsuleSpec = { ...spec, stack: [snapshot, ...stack], sealing: null, settled: snapshot };
  await writeInfo(disk, repo, snapshot, { ...below, stack: sealed.stack });
  await layout.writeSpec(disk, { ...spec, sealing: snapshot });
  await disk.rename(layout.upper, layerDir(repo, snapshot));
  await finish(disk, repo, layout, sealed);
  return sealed;
}

/** After a crash, either the rename happened and the layer has its name, or nothing happened. */
export async function settleSealing(
  disk: Disk,
  repo: Repo,
  layout: CapsuleDir,
  spec: CapsuleSpec,
): Promise<CapsuleSpec> {
  const { sealing } = spec;
  if (sealing === null) return spec;
  const isMoved = existsSync(layerDir(repo, sealing));
  const settled: CapsuleSpec = {
    ...spec,
    sealing: null,
    stack: isMoved ? [sealing, ...spec.stack] : spec.stack,
  };
  await finish(disk, repo, layout, settled);
  return settled;
}

async function finish(disk: Disk, repo: Repo, layout: CapsuleDir, spec: CapsuleSpec): Promise<void> {
  await mkdir(layout.upper, { recursive: true, mode: 0o700 });
  await disk.syncDir(layersDir(repo));
  await layout.writeSpec(disk, spec);
}

/**
 * Replaces a stack by one layer with everything that it shows. It is not named after a snapshot: the topmost
 * layer already has that name.
 */
export async function addFlatLayer(
  disk: Disk,
  repo: Repo,
  dir: string,
  spec: CapsuleSpec,
  snapshot: string,
): Promise<string[]> {
  const name = sha256Hex(`flat ${snapshot}`).slice(0, snapshot.length);
  const isOnlyCopy = (await readInfo(repo, snapshot))?.isOnlyCopy ?? false;
  // What the capsule still has is in the new layer. Of older turns, their snapshots remain.
  for (const [older, layer] of await onlyCopiesOn(disk, repo, spec))
    await writeInfo(disk, repo, older, { ...layer, isOnlyCopy: false });
  // Under the lock: the layer is in use once a capsule.json names it, and that is written next.
  await withFileLock(repoLock(repo), async () => {
    if (!existsSync(layerDir(repo, name))) await disk.rename(dir, layerDir(repo, name));
    await disk.syncDir(layersDir(repo));
    await writeInfo(disk, repo, snapshot, { stack: [name], baseKey: spec.baseKey ?? "", isOnlyCopy });
  });
  return [name];
}

export async function listLayers(repo: Repo): Promise<string[]> {
  if (!existsSync(layersDir(repo))) return [];
  return (await readdir(layersDir(repo))).filter((name) => /^[0-9a-f]{40,64}$/.test(name));
}

/** The snapshots that layers show, by their ids. */
export async function listLayered(repo: Repo): Promise<Map<string, Layer>> {
  const found = new Map<string, Layer>();
  for (const name of await readdir(layersDir(repo)).catch(() => [])) {
    const snapshot = /^([0-9a-f]{40,64})\.json$/.exec(name)?.[1];
    const layer = snapshot === undefined ? undefined : await readInfo(repo, snapshot);
    if (snapshot !== undefined && layer) found.set(snapshot, layer);
  }
  return found;
}

/** Without it, the snapshot is read from the store. */
export async function forgetLayered(repo: Repo, snapshot: string): Promise<void> {
  await rm(infoFile(repo, snapshot), { force: true });
}

/**
 * Those of the capsule's snapshots whose layers have files that exist nowhere else. If another session names
 * one too, a fork or the parent of one, this session may not drop it.
 */
async function onlyCopiesOn(
  disk: Disk,
  repo: Repo,
  { stack, session }: CapsuleSpec,
): Promise<[string, Layer][]> {
  const only = [...(await listLayered(repo))].filter(
    ([, layer]) => layer.isOnlyCopy && layer.stack.some((name) => stack.includes(name)),
  );
  if (only.length === 0) return [];
  const others = await listNamedSnapshots(await openStore(repo, disk), session);
  return only.filter(([snapshot]) => !others.has(snapshot));
}

/**
 * Drops the files that only layers have, at the owner's request. A restore then has the files of the snapshot
 * only.
 */
export async function dropOnlyCopies(disk: Disk, repo: Repo, spec: CapsuleSpec): Promise<void> {
  for (const [snapshot] of await onlyCopiesOn(disk, repo, spec)) await forgetLayered(repo, snapshot);
}
