/**
 * Owns deadlines: a moment until which code waits, by the clock that never goes back.
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
