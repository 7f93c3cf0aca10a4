/**
 * Owns the port through which each part that makes capsules answers for them: which it has, and whether they
 * are in use. What capsules share (bases, layers, held commits, ports) is removed only if no owner has a
 * capsule that needs it.
 */
import { existsSync } from "node:fs";
import { CapsuleDir, type CapsuleSpec } from "../dir/capsule-dir.ts";

/** Keeps two processes from working in a capsule at once. */
export interface Custody {
  readonly isBusy: boolean;
  /** Runs the work while all others are kept out. Fails if the capsule is busy. */
  alone(work: () => Promise<void>): Promise<void>;
}

export interface FoundCapsule {
  readonly layout: CapsuleDir;
  /** Undefined: the description was not written, or can't be read. */
  readonly spec: CapsuleSpec | undefined;
  readonly isUnfinished: boolean;
}

export interface OwnedCapsule extends FoundCapsule {
  readonly custody: Custody;
  /** It exists only while its owner works in it: one that is found later was left by a kill. */
  readonly isPassing: boolean;
}

export interface CapsuleOwner {
  /** The capsules that it has at this moment, whole or not. */
  list(): Promise<readonly OwnedCapsule[]>;
  /**
   * For the directory of a capsule, whether it exists or not; undefined if it does not belong to this owner.
   */
  custodyOf(dir: string): Custody | undefined;
}

/** The capsule in a directory, as far as it was made; undefined if there is nothing. */
export async function findCapsule(dir: string): Promise<FoundCapsule | undefined> {
  const layout = new CapsuleDir(dir);
  if (!existsSync(dir)) return undefined;
  const spec = await layout.readSpec().catch(() => undefined);
  return { layout, spec, isUnfinished: spec ? !spec.isWhole : !existsSync(layout.specFile) };
}
