/**
 * Owns what one step of a collection is: as it is planned, and as it is told.
 */
import type { OnProgress } from "../../util/index.ts";

export interface GcStep {
  readonly action: "archive" | "compress" | "delete" | "clear" | "repack";
  readonly what: string;
  readonly why: string;
  /** What it gave back of the disk, or would; null where nobody knows beforehand. */
  readonly freedBytes: number | null;
}

export interface Planned extends Omit<GcStep, "freedBytes"> {
  /** What is there before it, and smaller or gone after it. */
  readonly paths: readonly string[];
  run(onProgress: OnProgress | undefined): Promise<void>;
}
