/**
 * Owns the word for what capsules reach the world through.
 */
import type { Clock, Disk, OnProgress } from "../../util/index.ts";

export interface CapsuleIo {
  readonly homeDir: string;
  readonly disk: Disk;
  readonly clock: Clock;
  /** Hears what long work is at. */
  readonly onProgress?: OnProgress | undefined;
}
