/**
 * Deadlines, with a clock that the test moves.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { deadline } from "../../src/util/index.ts";

it("a deadline follows the monotonic clock and not the wall clock, and never has less than 0 ms left", () => {
  fc.assert(
    fc.property(fc.nat(1e6), fc.nat(1e6), fc.array(fc.nat(1e5)), (startMs, ms, steps) => {
      let monotonicMs = startMs;
      let nowMs = 0;
      const clock = { monotonicMs: () => monotonicMs, nowMs: () => (nowMs += 1e9) };
      const patience = deadline(clock, ms);
      for (const step of steps) {
        monotonicMs += step;
        const leftMs = Math.max(0, startMs + ms - monotonicMs);
        expect([patience.leftMs, patience.isPast]).toEqual([leftMs, leftMs === 0]);
      }
    }),
  );
});
