/**
 * Owns the form of one step of a collection, in the plan and in the report.
 */
import type { OnProgress } from "../../util/index.ts";

export interface GcStep {
  readonly action: "archive" | "compress" | "delete" | "clear" | "repack";
  readonly what: string;
  readonly why: string;
  /** How much of the disk it freed, or would free; null if that is not known in advance. */
  readonly freedBytes: number | null;
}

export interface Planned extends Omit<GcStep, "freedBytes"> {
  /** The paths that the step removes or makes smaller. */
  readonly paths: readonly string[];
  run(onProgress: OnProgress | undefined): Promise<void>;
}
