/**
 * Owns the form in which each part of a home reports what may be cleared: leftovers of a killed process, or
 * an entry of a cache that is no longer needed. `doctor` shows them, `gc` clears them.
 */
export interface Leftover {
  readonly what: string;
  readonly why: string;
  /** It is only an old part of a cache, not a sign of a problem. */
  readonly isCache: boolean;
  /** The paths whose space on the disk is freed with it. */
  readonly paths?: readonly string[];
  /** The paths only get smaller. */
  readonly isRepacked?: boolean;
  clear(): Promise<void>;
}

/** A leftover of this age does not belong to a process that still works on it. */
export const ABANDONED_MS = 60 * 60 * 1000;
