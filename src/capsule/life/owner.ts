/**
 * Owns the port through which whatever makes capsules answers for them: which it has, and whether they are worked in.
 * What capsules share (bases, layers, held commits, ports) goes only when no owner has one that needs it.
 */
import { existsSync } from "node:fs";
import { CapsuleDir, type CapsuleSpec } from "../dir/capsule-dir.ts";

/** How a capsule is kept from being worked in by two at once. */
export interface Custody {
  readonly isBusy: boolean;
  /** With everyone else kept out of it; fails where it is busy. */
  alone(work: () => Promise<void>): Promise<void>;
}

export interface FoundCapsule {
  readonly layout: CapsuleDir;
  /** Undefined: none was written, or it can't be read. */
  readonly spec: CapsuleSpec | undefined;
  readonly isUnfinished: boolean;
}

export interface OwnedCapsule extends FoundCapsule {
  readonly custody: Custody;
  /** It is there only while its owner works in it: what lies there afterwards was left by a kill. */
  readonly isPassing: boolean;
}

export interface CapsuleOwner {
  /** Those that it has at this moment, whole or not. */
  list(): Promise<readonly OwnedCapsule[]>;
  /** Of a capsule in this directory, there or not; undefined where it is not one of this owner's. */
  custodyOf(dir: string): Custody | undefined;
}

/** The capsule in a directory, as far as it came; undefined where nothing is. */
export async function findCapsule(dir: string): Promise<FoundCapsule | undefined> {
  const layout = new CapsuleDir(dir);
  if (!existsSync(dir)) return undefined;
  const spec = await layout.readSpec().catch(() => undefined);
  return { layout, spec, isUnfinished: spec ? !spec.isWhole : !existsSync(layout.specFile) };
}
