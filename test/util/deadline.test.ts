/**
 * How long something is waited for, by a clock that the test moves.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { deadline } from "../../src/util/index.ts";

it("a deadline is past when its time is over, whatever the wall clock says, and never has less than nothing left", () => {
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
