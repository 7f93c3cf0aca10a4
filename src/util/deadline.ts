/**
 * Owns how long something is waited for: until then, and no longer, by the clock that never goes back.
 */
import type { Clock } from "./clock.ts";

export interface Deadline {
  readonly isPast: boolean;
  /** Zero when it is past. */
  readonly leftMs: number;
}

export function deadline(clock: Clock, ms: number): Deadline {
  const atMs = clock.monotonicMs() + ms;
  return {
    get isPast() {
      return clock.monotonicMs() >= atMs;
    },
    get leftMs() {
      return Math.max(0, atMs - clock.monotonicMs());
    },
  };
}
