/**
 * Owns the port to time. Everything that reads a clock is handed one of these.
 */
export interface Clock {
  /** Wall time in milliseconds since 1970; may jump backwards. */
  nowMs(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
