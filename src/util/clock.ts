/**
 * Owns the port to time. All code that reads a clock is given one of these, and a rule of the linter forbids
 * other files to read one directly.
 */
export interface Clock {
  /** Wall time in milliseconds since 1970; may jump backwards. */
  nowMs(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonicMs(): number;
}

/** For the lowest layers, which are not given a port: they wait for the kernel, or compare with its times. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/**
 * How long ago a file was written. The time of a file comes from the kernel's clock, so only that clock can
 * tell.
 */
export function ageMs({ mtimeMs }: { readonly mtimeMs: number }): number {
  return systemClock.nowMs() - mtimeMs;
}
