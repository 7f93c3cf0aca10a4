/**
 * Owns the port to time. Everything that reads a clock is handed one of these; a rule of the linter lets no other file
 * read one directly.
 */
export interface Clock {
  /** Wall time in milliseconds since 1970; may jump backwards. */
  nowMs(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonicMs(): number;
}

/** For those at the bottom, whom no port reaches: they wait for the kernel, or compare with its times. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** How long ago a file was written. The kernel's clock says when, so no other can say how long ago. */
export function ageMs({ mtimeMs }: { readonly mtimeMs: number }): number {
  return systemClock.nowMs() - mtimeMs;
}
