/**
 * Owns sealed layers: the upper layer of a capsule, put away under the name of the snapshot that was taken of
 * it, so that a fork can stand on it at once. A layer is a cache of its snapshot and can be thrown away.
 *
 * K13 A layer is sealed only after everything that could write to it is gone, so it is what its snapshot says.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createFile, type Disk, openSealedJson, readIfThere, sealJson } from "../util/index.ts";
import { syncFileSystem } from "./directories.ts";
import type { CapsuleSpec, Place } from "./place.ts";
import type { Repo } from "./repo.ts";

/** Above this the next capsule is made from the snapshot: mount options have a limit of about 30 layers. */
export const MAX_LAYERS = 20;

export const layersDir = (repo: Pick<Repo, "dir">) => join(repo.dir, "layers");
export const layerDir = (repo: Pick<Repo, "dir">, snapshot: string) => join(layersDir(repo), snapshot);
const infoFile = (repo: Pick<Repo, "dir">, snapshot: string) => join(layersDir(repo), `${snapshot}.json`);

export interface Layer {
  /** Itself and what it stands on, topmost first. */
  readonly stack: readonly string[];
  readonly baseKey: string;
}

/** The layers that show a snapshot's files, if they are all there. */
export async function findLayer(repo: Repo, snapshot: string): Promise<Layer | undefined> {
  const bytes = await readIfThere(infoFile(repo, snapshot));
  const info = bytes && openSealedJson(bytes);
  if (!info || !Array.isArray(info["stack"]) || typeof info["baseKey"] !== "string") return undefined;
  const stack = info["stack"].map(String);
  return stack.every((layer) => existsSync(layerDir(repo, layer)))
    ? { stack, baseKey: info["baseKey"] }
    : undefined;
}

/** Of a capsule that is detached, and whose snapshot was just taken. Returns what the capsule is now. */
export async function sealUpper(
  disk: Disk,
  repo: Repo,
  place: Place,
  spec: CapsuleSpec,
  snapshot: string,
): Promise<CapsuleSpec> {
  if (spec.baseKey === null || existsSync(layerDir(repo, snapshot)) || spec.stack.length >= MAX_LAYERS)
    return spec;
  await mkdir(layersDir(repo), { recursive: true, mode: 0o700 });
  await syncFileSystem(place.upper);
  const sealed: CapsuleSpec = { ...spec, stack: [snapshot, ...spec.stack], sealing: null };
  const info = sealJson({ stack: sealed.stack, baseKey: spec.baseKey });
  await rm(infoFile(repo, snapshot), { force: true });
  await createFile(disk, infoFile(repo, snapshot), info);
  await place.writeSpec(disk, { ...spec, sealing: snapshot });
  await disk.rename(place.upper, layerDir(repo, snapshot));
  await finish(disk, repo, place, sealed);
  return sealed;
}

/** After a crash: the rename happened, and the layer is under its name; or not, and nothing did. */
export async function settleSealing(
  disk: Disk,
  repo: Repo,
  place: Place,
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
  await finish(disk, repo, place, settled);
  return settled;
}

async function finish(disk: Disk, repo: Repo, place: Place, spec: CapsuleSpec): Promise<void> {
  await mkdir(place.upper, { recursive: true, mode: 0o700 });
  await disk.syncDir(layersDir(repo));
  await place.writeSpec(disk, spec);
}

export async function listLayers(repo: Repo): Promise<string[]> {
  if (!existsSync(layersDir(repo))) return [];
  return (await readdir(layersDir(repo))).filter((name) => /^[0-9a-f]{40,64}$/.test(name));
}

export async function forgetLayer(repo: Repo, snapshot: string): Promise<void> {
  await rm(infoFile(repo, snapshot), { force: true });
}
