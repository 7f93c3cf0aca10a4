/**
 * Owns the overlay strategy: an upper layer over an immutable base, mounted in the namespace of one holder.
 * Making one costs the same whatever the size of the repo.
 *
 * holder-1 One holder per capsule: an upper layer is never mounted twice.
 */
import { existsSync, lstatSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import {
  ComingHolder,
  endHolder,
  enterFiles,
  enterHolder,
  enterNetwork,
  type Holder,
  throughHolder,
} from "../../process/index.ts";
import { isAlive } from "../../util/index.ts";
import { openBase } from "../base/bases.ts";
import type { CapsuleDir, CapsuleSpec } from "../dir/capsule-dir.ts";
import { type Change, overlayChanges } from "../files/changes.ts";
import { OpenDir } from "../files/open-dir.ts";
import { giveTo } from "../files/ownership.ts";
import type { View } from "../files/view.ts";
import { makeGitdir } from "../gitdir/gitdir.ts";
import { layerDir } from "../layer/layers.ts";
import type { Ground, Strategy } from "./strategy.ts";

export const overlay: Strategy = {
  name: "overlay",
  usesBase: true,

  async populate({ repo, isPassing }, layout, spec, surroundings) {
    for (const dir of [layout.upper, layout.work, layout.tree])
      await mkdir(dir, { recursive: true, mode: 0o700 });
    if (!surroundings) return;
    const { branch, lower } = spec;
    const { index } = openBase(repo, spec.baseKey ?? "");
    await makeGitdir({
      path: join(layout.upper, ".git"),
      repo,
      surroundings,
      branch,
      commit: lower,
      index,
      isPassing,
    });
  },

  async attach(ground, layout, spec) {
    const reached = overlay.reached(layout);
    const hasNetwork = ground.sandbox !== undefined;
    if (reached?.hasNetwork === hasNetwork) return reached;
    const known = layout.readHolder();
    // Any process that still has the upper layer mounted must end before it is mounted again (holder-1).
    if (known) await endHolder(known, layout.dir);
    for (const dir of [layout.upper, layout.work, layout.tree])
      await mkdir(dir, { recursive: true, mode: 0o700 });
    const short = (path: string) => relative(ground.homeDir, path);
    const lowers = [
      ...spec.stack.map((layer) => layerDir(ground.repo, layer)),
      openBase(ground.repo, spec.baseKey ?? "").tree,
    ];
    giveLayers(ground, [...lowers, layout.upper]);
    const coming = await comingHolder(ground, layout);
    const holder = await coming.hold({
      mount: {
        lowers: lowers.map(short),
        upper: short(layout.upper),
        work: short(layout.work),
        target: layout.tree,
      },
      record: (holder) => layout.writeHolder(holder),
    });
    return viewThrough(holder, layout);
  },

  detach: endHolderOf,

  reached(layout) {
    const holder = layout.readHolder();
    // A process that is being killed exists a little longer than what can be reached through it.
    if (!holder || !isAlive(holder) || !existsSync(throughHolder(holder, layout.tree))) return undefined;
    return viewThrough(holder, layout);
  },

  changes: changesAbove,
};

/** The holder that was started for this capsule, otherwise a new one. */
export async function comingHolder(
  { coming, homeDir, sandbox }: Ground,
  { dir }: CapsuleDir,
): Promise<ComingHolder> {
  if (sandbox && (await coming?.isWaiting())) return coming as ComingHolder;
  return new ComingHolder({ cwd: homeDir, mark: dir, hasNetwork: sandbox !== undefined });
}

/** Ends the holder of a capsule that has one, and forgets it. */
export async function endHolderOf(layout: CapsuleDir): Promise<void> {
  const holder = layout.readHolder();
  if (holder) await endHolder(holder, layout.dir);
  await rm(layout.holderFile, { force: true });
}

/**
 * Everything in a layer belongs to its user if its top does. Layers of an earlier version belonged to root.
 */
function giveLayers({ sandbox }: Ground, layers: readonly string[]): void {
  const user = sandbox?.user;
  for (const layer of layers) if (user && lstatSync(layer).uid !== user.uid) giveTo(user, layer);
}

/** The changes of the files above the base. */
export function* changesAbove(
  { repo }: Ground,
  layout: CapsuleDir,
  spec: CapsuleSpec,
  view: View,
): Generator<Change> {
  using merged = OpenDir.root(view.root);
  using base = OpenDir.root(openBase(repo, spec.baseKey ?? "").tree);
  const layers = [layout.upper, ...spec.stack.map((layer) => layerDir(repo, layer))].map((dir) =>
    OpenDir.root(dir),
  );
  try {
    yield* overlayChanges(merged, base, layers);
  } finally {
    for (const layer of layers) layer[Symbol.dispose]();
  }
}

/** The network of a holder that runs. */
export function networkOf(holder: Holder): Pick<View, "hasNetwork" | "network"> {
  const hasNetwork = holder.netNamespace !== undefined;
  return { hasNetwork, network: hasNetwork ? enterNetwork(holder) : [] };
}

function viewThrough(holder: Holder, layout: CapsuleDir): View {
  return {
    root: throughHolder(holder, layout.tree),
    workTree: layout.tree,
    enter: enterHolder(holder),
    enterFiles: enterFiles(holder),
    ...networkOf(holder),
  };
}
