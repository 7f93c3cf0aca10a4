/**
 * Owns making a capsule from a snapshot: on the layers that were sealed of it if they still exist, otherwise
 * on its base.
 */
import { HoldfastError } from "../../contract/index.ts";
import { linkObjects, surroundingsOf } from "../gitdir/gitdir.ts";
import { findLayer } from "../layer/layers.ts";
import { hasObject } from "../repo/commits.ts";
import { holdCommit } from "../repo/held.ts";
import { applySnapshot } from "../snapshot/apply.ts";
import { contentsOf } from "../store/contents.ts";
import { decodeManifest } from "../store/manifest.ts";
import { readManifestBytes } from "../store/named.ts";
import { openStore } from "../store/store.ts";
import { chooseStrategy, strategies } from "../strategy/strategies.ts";
import { build, type CreatedCapsule, findBase, isCollected, type NewCapsule } from "./build.ts";
import type { Capsule } from "./capsule.ts";
import { orDiskFull } from "./disk-full.ts";
import type { CapsuleIo } from "./io.ts";

export interface RestoredCapsule extends CreatedCapsule {
  /** Sockets and devices, which have no content. */
  readonly left: readonly string[];
}

/** `base` is the commit that it will stand on; by default, the one that it stood on. */
export type RestoreRequest = Omit<NewCapsule, "base"> & { readonly base?: string | null };

/** A capsule with the files of a snapshot, in a directory of its own. */
export function restoreCapsule(
  io: CapsuleIo,
  request: RestoreRequest,
  snapshot: string,
): Promise<RestoredCapsule> {
  return orDiskFull(io.disk, () => restore(io, request, snapshot));
}

async function restore(io: CapsuleIo, request: RestoreRequest, snapshot: string): Promise<RestoredCapsule> {
  const { repo, settings } = request;
  const store = await openStore(repo, io.disk);
  const manifest = decodeManifest(await readManifestBytes(store, snapshot));
  for (const commit of [manifest.base, manifest.lower])
    if (commit !== null && !(await hasObject(repo, commit)))
      throw new HoldfastError(
        "base_missing",
        `the snapshot is based on commit ${commit}, which is not in ${repo.checkout ?? repo.gitDir}`,
        { base: commit },
      );
  const strategy = strategies[await chooseStrategy(io.homeDir, settings.strategy)];
  const { lower, setupKey } = manifest;
  const base = request.base === undefined ? manifest.base : request.base;
  const removed = new Set(manifest.gone);
  const layer = strategy.name === "overlay" ? await findLayer(repo, snapshot) : undefined;
  if (layer) {
    const spec = {
      base,
      lower,
      setupKey,
      baseKey: layer.baseKey,
      stack: [...layer.stack],
      settled: snapshot,
    };
    try {
      return {
        ...(await build(io, request, strategy, spec, undefined, async () => {}, removed)),
        left: [],
      };
    } catch (error) {
      // The layer or its base was collected. The snapshot has all of it.
      if (!isCollected(error)) throw error;
    }
  }
  for (const commit of [base, lower]) if (commit !== null) await holdCommit(repo, commit);
  // Exactly the commit that the snapshot was measured against, not one near it.
  const surroundings = await surroundingsOf(repo);
  const cached = strategy.usesBase ? await findBase(io, request, lower, surroundings, true) : undefined;
  const { contents } = await contentsOf(store, snapshot, manifest);
  let left: readonly string[] = [];
  const spec = {
    base,
    lower: cached ? cached.commit : lower,
    setupKey,
    baseKey: cached?.key ?? null,
    stack: [],
    settled: snapshot,
  };
  const fill = async (capsule: Capsule) => {
    const view = await capsule.attach();
    if (!strategy.usesBase && settings.setup !== "") await capsule.setUp(request.runSetup);
    ({ left } = await applySnapshot(view.root, store, manifest, contents, {
      onProgress: io.onProgress,
    }));
    linkObjects(view.root, repo);
  };
  const created = await build(io, request, strategy, spec, undefined, fill, removed);
  return { ...created, left };
}
