/**
 * Owns bringing a capsule back to the files that it had at one moment, as often as that is needed: each of
 * several commands then gets files that none of the others has touched, ignored ones included.
 *
 * With an overlay, what was written until then becomes a layer that no other capsule uses, and the upper one
 * is made anew. The other strategies copy the files. What a kill leaves is a layer that no capsule names,
 * which gc removes.
 */
import { randomBytes } from "node:crypto";
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { removeTree } from "../files/directories.ts";
import { giveTo } from "../files/ownership.ts";
import { copyWhole } from "../files/share.ts";
import { layerDir, layersDir } from "../layer/layers.ts";
import type { Capsule } from "./capsule.ts";

/** The files of a capsule at one moment. */
export interface KeptFiles {
  /** Brings the capsule back to them. Every process in it is ended. */
  renew(): Promise<void>;
  /** Call it when the capsule is gone. */
  drop(): Promise<void>;
}

const LAYER_NAME_BYTES = 20;

/** Every process in the capsule is ended. Nothing of it has to last: it is not synced. */
export async function keepFiles(capsule: Capsule): Promise<KeptFiles> {
  await capsule.detach();
  return capsule.spec.strategy === "overlay" ? keepLayer(capsule) : keepCopy(capsule);
}

async function keepLayer(capsule: Capsule): Promise<KeptFiles> {
  const { layout, repo, spec } = capsule;
  const name = randomBytes(LAYER_NAME_BYTES).toString("hex");
  const layer = layerDir(repo, name);
  await mkdir(layersDir(repo), { recursive: true, mode: 0o700 });
  // It is in use before it has its name.
  await capsule.update({ ...spec, sealing: name });
  await rename(layout.upper, layer);
  await capsule.update({ ...spec, stack: [name, ...spec.stack] });
  return {
    renew: async () => {
      await capsule.detach();
      for (const dir of [layout.upper, layout.work]) {
        await removeTree(dir);
        await mkdir(dir, { mode: 0o700 });
      }
      giveTo(capsule.sandbox?.user, layout.upper);
    },
    drop: () => removeTree(layer),
  };
}

async function keepCopy(capsule: Capsule): Promise<KeptFiles> {
  const { dir, tree } = capsule.layout;
  const kept = join(dir, "kept");
  await copyWhole(tree, kept);
  return {
    renew: async () => {
      await capsule.detach();
      await removeTree(tree);
      await copyWhole(kept, tree);
    },
    // It is in the directory of the capsule.
    drop: async () => {},
  };
}
