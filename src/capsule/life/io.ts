/**
 * Owns the form in which capsules are given access to the world.
 */
import type { Clock, Disk, OnProgress } from "../../util/index.ts";

export interface CapsuleIo {
  readonly homeDir: string;
  readonly disk: Disk;
  readonly clock: Clock;
  /** Receives the progress of long work. */
  readonly onProgress?: OnProgress | undefined;
}
