/**
 * Owns the interface of all strategies: one way to make, reach and compare the files of a capsule.
 */
import type { ComingHolder, Sandbox } from "../../process/index.ts";
import type { Disk, OnProgress } from "../../util/index.ts";
import type { CapsuleDir, CapsuleSpec, StrategyName } from "../dir/capsule-dir.ts";
import type { Change } from "../files/changes.ts";
import type { View } from "../files/view.ts";
import type { Surroundings } from "../gitdir/gitdir.ts";
import type { Repo } from "../repo/repo.ts";

export interface Ground {
  readonly homeDir: string;
  readonly repo: Repo;
  readonly disk: Disk;
  readonly onProgress?: OnProgress | undefined;
  /** That the capsule's processes run in; undefined where they have none. */
  readonly sandbox: Sandbox | undefined;
  /** One that was begun for this capsule before its files were there; it may be gone by now. */
  readonly coming?: ComingHolder | undefined;
}

export interface Strategy {
  readonly name: StrategyName;
  /** Whether it stands on a base of the cache, or checks its files out for itself. */
  readonly usesBase: boolean;
  /** The files of the base, and a private gitdir unless the files will bring one. Nothing is mounted yet. */
  populate(
    ground: Ground,
    layout: CapsuleDir,
    spec: CapsuleSpec,
    gitdir: Surroundings | undefined,
  ): Promise<void>;
  /** Makes the files reachable. A second call gives the same view. */
  attach(ground: Ground, layout: CapsuleDir, spec: CapsuleSpec): Promise<View>;
  /** Ends whatever makes them reachable, and every process that stands in them. */
  detach(layout: CapsuleDir): Promise<void>;
  /** Where they can be reached now; undefined where nothing makes them so. Starts nothing. */
  reached(layout: CapsuleDir): View | undefined;
  changes(
    ground: Ground,
    layout: CapsuleDir,
    spec: CapsuleSpec,
    view: View,
  ): Iterable<Change> | AsyncIterable<Change>;
}

export interface Probe {
  readonly strategy: StrategyName;
  readonly isAvailable: boolean;
  readonly detail: string;
}
