/**
 * Owns the form in which each part of a home tells what of it may be cleared: what something left that was killed, or a
 * cache of which this part may go. `doctor` shows it, `gc` clears it.
 */
export interface Leftover {
  readonly what: string;
  readonly why: string;
  /** A cache that is only old: nothing to worry about. */
  readonly isCache: boolean;
  /** What of the disk goes with it. */
  readonly paths?: readonly string[];
  /** They only get smaller. */
  readonly isRepacked?: boolean;
  clear(): Promise<void>;
}

/** What is this old was not left by one who is still at it. */
export const ABANDONED_MS = 60 * 60 * 1000;
