/**
 * Owns the interface of all strategies. A strategy is one way to make, reach and compare the files of a
 * capsule.
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
  /** The sandbox that the capsule's processes run in; undefined if they have none. */
  readonly sandbox: Sandbox | undefined;
  /** A holder that was started for this capsule before its files were ready. It may have ended by now. */
  readonly coming?: ComingHolder | undefined;
  /** Whether the capsule is removed when the process that makes it ends. Then nothing of it is synced. */
  readonly isPassing?: boolean | undefined;
}

export interface Strategy {
  readonly name: StrategyName;
  /** Whether it stands on a base of the cache, or checks out files of its own. */
  readonly usesBase: boolean;
  /**
   * Makes the files of the base, and a private gitdir unless the files will bring one. Nothing is mounted
   * yet.
   */
  populate(
    ground: Ground,
    layout: CapsuleDir,
    spec: CapsuleSpec,
    gitdir: Surroundings | undefined,
  ): Promise<void>;
  /** Makes the files reachable. A second call gives the same view. */
  attach(ground: Ground, layout: CapsuleDir, spec: CapsuleSpec): Promise<View>;
  /** Ends what makes them reachable, and every process that has them open or mounted. */
  detach(layout: CapsuleDir): Promise<void>;
  /** Where they can be reached now; undefined if they are not reachable. It starts nothing. */
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
