/**
 * Owns the overlay strategy: an upper layer over an immutable base, mounted in the namespace of one holder.
 * Making one costs the same whatever the size of the repo.
 *
 * K12 One holder per capsule: an upper layer is never mounted twice.
 */
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { endHolder, enterHolder, type Holder, startHolder, throughHolder } from "../../process/index.ts";
import { isAlive } from "../../util/index.ts";
import { openBase } from "../base/bases.ts";
import type { CapsuleDir, CapsuleSpec } from "../dir/capsule-dir.ts";
import { type Change, overlayChanges } from "../files/changes.ts";
import { OpenDir } from "../files/open-dir.ts";
import type { View } from "../files/view.ts";
import { makeGitdir } from "../gitdir/gitdir.ts";
import { layerDir } from "../layer/layers.ts";
import type { Ground, Strategy } from "./strategy.ts";

export const overlay: Strategy = {
  name: "overlay",
  usesBase: true,

  async populate({ repo }, place, spec, surroundings) {
    for (const dir of [place.upper, place.work, place.tree])
      await mkdir(dir, { recursive: true, mode: 0o700 });
    if (!surroundings) return;
    const { branch, lower } = spec;
    const { index } = openBase(repo, spec.baseKey ?? "");
    await makeGitdir({ path: join(place.upper, ".git"), repo, surroundings, branch, commit: lower, index });
  },

  async attach(ground, place, spec) {
    const reached = overlay.reached(place);
    if (reached) return reached;
    const known = place.readHolder();
    // Whatever still has the upper layer mounted must be gone before it is mounted again (K12).
    if (known) await endHolder(known, place.dir);
    for (const dir of [place.upper, place.work, place.tree])
      await mkdir(dir, { recursive: true, mode: 0o700 });
    const short = (path: string) => relative(ground.homeDir, path);
    const lowers = [
      ...spec.stack.map((layer) => layerDir(ground.repo, layer)),
      openBase(ground.repo, spec.baseKey ?? "").tree,
    ];
    const holder = await startHolder(
      { lowers: lowers.map(short), upper: short(place.upper), work: short(place.work), target: place.tree },
      {
        cwd: ground.homeDir,
        mark: place.dir,
        record: (holder) => writeFile(place.holderFile, `${JSON.stringify(holder)}\n`, { mode: 0o600 }),
      },
    );
    return viewThrough(holder, place);
  },

  async detach(place) {
    const holder = place.readHolder();
    if (holder) await endHolder(holder, place.dir);
    await rm(place.holderFile, { force: true });
  },

  reached(place) {
    const holder = place.readHolder();
    // One that is being killed is there a little longer than what can be reached through it.
    if (!holder || !isAlive(holder) || !existsSync(throughHolder(holder, place.tree))) return undefined;
    return viewThrough(holder, place);
  },

  changes: changesAbove,
};

/** What differs from the base. */
export function* changesAbove(
  { repo }: Ground,
  place: CapsuleDir,
  spec: CapsuleSpec,
  view: View,
): Generator<Change> {
  using merged = OpenDir.root(view.root);
  using base = OpenDir.root(openBase(repo, spec.baseKey ?? "").tree);
  const layers = [place.upper, ...spec.stack.map((layer) => layerDir(repo, layer))].map((dir) =>
    OpenDir.root(dir),
  );
  try {
    yield* overlayChanges(merged, base, layers);
  } finally {
    for (const layer of layers) layer[Symbol.dispose]();
  }
}

function viewThrough(holder: Holder, place: CapsuleDir): View {
  return { root: throughHolder(holder, place.tree), workTree: place.tree, enter: enterHolder(holder) };
}
