import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Circumstances, decide, reserveBytes } from "../../src/line/admission.ts";
import type { Place } from "../../src/line/index.ts";

const MB = 1024 * 1024;

function place(order: number, state: Place["state"], definition = "agent", own: Partial<Place> = {}): Place {
  return {
    session: `sess_${String(order).padStart(26, "0")}`,
    definition,
    priority: 0,
    order,
    state,
    reason: null,
    maxSessions: null,
    maxMemoryBytes: null,
    sessionProcess: null,
    by: null,
    maker: null,
    attempts: 0,
    isTaken: state === "granted",
    ...own,
  };
}

const machine = { availableBytes: 4000 * MB, totalBytes: 8000 * MB };
const circumstances = (own: Partial<Circumstances> = {}): Circumstances => ({
  memory: machine,
  needOf: () => 1000 * MB,
  useOf: () => 0,
  limits: { maxSessions: null, maxMemoryBytes: null },
  ...own,
});
const begun = (places: readonly Place[], own?: Partial<Circumstances>) =>
  decide(places, circumstances(own))
    .filter(({ reason }) => reason === null)
    .map(({ place: { order } }) => order);

describe("admission", () => {
  it("lets the sessions begin that fit beside the reserve, and says why the others wait", () => {
    const places = [1, 2, 3, 4, 5].map((order) => place(order, "waiting"));
    // 4000 available, 800 reserved: three of a thousand.
    expect(begun(places)).toEqual([1, 2, 3]);
    expect(decide(places, circumstances())[3]?.reason).toBe(
      "it needs 1000 MB, and 200 MB are free above the reserve",
    );
    expect(decide(places, circumstances())[4]?.reason).toBe("other sessions are before it in the line");
  });

  it("counts the memory that running sessions still need, and not again what they already use", () => {
    const running = [place(1, "granted"), place(2, "granted")];
    const waiting = [3, 4, 5].map((order) => place(order, "waiting"));
    expect(begun([...running, ...waiting])).toEqual([3]);
    // They use all that they need: it is no longer available, and nothing more is kept free for them.
    expect(begun([...running, ...waiting], { useOf: () => 1000 * MB })).toEqual([3, 4, 5]);
  });

  it("keeps to --max-sessions and --max-memory of the home, and to a session's own limit", () => {
    const places = [1, 2, 3].map((order) => place(order, "waiting"));
    expect(begun(places, { limits: { maxSessions: 2, maxMemoryBytes: null } })).toEqual([1, 2]);
    expect(begun(places, { limits: { maxSessions: null, maxMemoryBytes: 1500 * MB } })).toEqual([1]);
    // A session with a lower limit of its own waits, and those after it do not wait for it.
    const shy = [place(1, "granted"), place(2, "waiting", "agent", { maxSessions: 1 }), place(3, "waiting")];
    expect(begun(shy)).toEqual([3]);
    expect(decide(shy, circumstances())[0]?.reason).toBe("1 session runs, and the limit is 1");
  });

  const someMemory = fc.record({
    availableBytes: fc.nat({ max: 16_000 }).map((mb) => mb * MB),
    totalBytes: fc.integer({ min: 1, max: 16_000 }).map((mb) => mb * MB),
  });
  const somePlaces = fc
    .array(
      fc.record({
        state: fc.constantFrom("waiting" as const, "granted" as const),
        need: fc.nat({ max: 4000 }),
      }),
      {
        maxLength: 30,
      },
    )
    .map((all) => all.map(({ state, need }, index) => ({ place: place(index, state, String(need)), need })));

  it("line-1 lets no session overtake another when room is short: the first in the line begin", () => {
    fc.assert(
      fc.property(
        someMemory,
        somePlaces,
        fc.option(fc.integer({ min: 1, max: 9 })),
        (memory, all, maxSessions) => {
          const decisions = decide(
            all.map((one) => one.place),
            circumstances({
              memory,
              needOf: (need) => Number(need) * MB,
              limits: { maxSessions, maxMemoryBytes: null },
            }),
          );
          const firstThatWaits = decisions.findIndex(({ reason }) => reason !== null);
          if (firstThatWaits < 0) return;
          expect(decisions.slice(firstThatWaits).every(({ reason }) => reason !== null)).toBe(true);
        },
      ),
    );
  });

  it("line-2 gives out no more memory than there is, but always lets one session run", () => {
    fc.assert(
      fc.property(someMemory, somePlaces, (memory, all) => {
        const needOf = (need: string) => Number(need) * MB;
        const places = all.map((one) => one.place);
        const decisions = decide(places, circumstances({ memory, needOf }));
        const running = places.filter(({ state }) => state === "granted");
        const beginning = decisions.filter(({ reason }) => reason === null).map((one) => one.place);
        const sum = (some: readonly Place[]) =>
          some.reduce((total, { definition }) => total + needOf(definition), 0);
        if (running.length === 0 && decisions.length > 0) expect(beginning.length).toBeGreaterThan(0);
        const isAlone = running.length === 0 && beginning.length === 1;
        if (beginning.length > 0 && !isAlone)
          expect(sum(running) + sum(beginning)).toBeLessThanOrEqual(
            Math.max(
              memory.availableBytes - reserveBytes(memory),
              running.length === 0 ? needOf(beginning[0]?.definition ?? "0") : 0,
            ),
          );
      }),
    );
  });
});
