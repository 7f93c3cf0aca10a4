/**
 * The life of a session process, with rings, pauses, interrupts, ends, failures and deadlines in any order.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Effect, Happening, Life, Work } from "../../src/host/life.ts";
import { begin, step } from "../../src/host/life-table.ts";
import { type Entry, lives, type Played } from "../support/lives.ts";

const RUNS = 1000;

/** Checks that this holds for every life. */
function always(holds: (played: Played) => void): void {
  fc.assert(fc.property(lives, holds), { numRuns: RUNS });
}

const isFrom = (life: Life, ...steps: string[]) =>
  life.state === "gone" || (life.state === "leaving" && steps.includes(life.step));
/** What happens from here on changes nothing. */
const isDecided = (life: Life) => isFrom(life, "resting", "pausing", "going");

/** Whether the process has to end because of this happening. */
function endsIt({ before, happening }: Entry): boolean {
  if (before.state === "gone") return false;
  if (happening.kind === "look_failed") return !isDecided(before);
  if (happening.kind === "drive_ended") return happening.isPaused;
  return happening.kind === "pause_asked" || happening.kind === "failed";
}

const isFailure = (entry: Entry) => endsIt(entry) && /failed$/.test(entry.happening.kind);

const startsCommand = (work: Work) => work.kind === "queued" || work.isStartedAgain;
const effectsOf = (entries: readonly Entry[]): Effect[] => entries.flatMap(({ effects }) => effects);

describe("the life of a session process", () => {
  it("process-1 has one thing under way at a time, and stops a turn once", () => {
    always(({ entries }) => {
      let stops = 0;
      for (const { effects, underWay } of entries) {
        expect(underWay.length).toBeLessThanOrEqual(1);
        for (const { kind } of effects) {
          if (kind === "drive") stops = 0;
          if (kind !== "stop_turn") continue;
          expect(underWay[0]?.kind).toBe("drive");
          stops += 1;
        }
        expect(stops).toBeLessThanOrEqual(1);
      }
    });
  });

  it("process-2 starts no command after a pause or a failure, nor while it leaves", () => {
    always(({ entries }) => {
      const first = entries.findIndex(endsIt);
      for (const [at, { before, effects }] of entries.entries()) {
        const isOver = (first >= 0 && at >= first) || before.state === "leaving";
        for (const effect of effects) {
          if (effect.kind === "drive" && startsCommand(effect.work)) expect(isOver).toBe(false);
          if (effect.kind === "ask_place") expect(first >= 0 && at >= first).toBe(false);
        }
      }
    });
  });

  it("process-3 looks after every ring, and turns a ring away only once it goes to rest", () => {
    always(({ entries }) => {
      for (const { before, happening, effects } of entries) {
        if (happening.kind !== "rung") continue;
        expect(effects).toHaveLength(1);
        expect(effects[0]?.kind).toMatch(/^(look|turn_away)$/);
        if (effects[0]?.kind === "turn_away") expect(isDecided(before)).toBe(true);
      }
    });
  });

  it("process-4 is gone in the end: after a pause with the session at rest, after a failure with its reason", () => {
    always(({ entries }) => {
      const last = entries.at(-1)?.after;
      const failed = entries.some(isFailure);
      expect(last).toMatchObject({ state: "gone", failure: failed ? { kind: "failure" } : null });
      const all = effectsOf(entries);
      const leave = all.findIndex(({ kind }) => kind === "leave");
      const rest = all.findIndex(({ kind }) => kind === "record_pause");
      expect(all.filter(({ kind }) => kind === "leave")).toHaveLength(1);
      if (!failed) expect([rest >= 0, rest < leave]).toEqual([true, true]);
      // The record says whether a pause was asked for.
      const asked = entries.findIndex((entry) => endsIt(entry) && !isFailure(entry));
      const recorded = entries.findIndex(({ effects }) =>
        effects.some(({ kind }) => kind === "record_pause"),
      );
      if (recorded >= 0)
        expect(all[rest]).toMatchObject({ reason: asked >= 0 && asked < recorded ? "asked" : "idle" });
    });
  });

  it("process-5 always has something under way, and a ring, a pause, a failure or the time ends a wait in line", () => {
    always(({ entries }) => {
      for (const { before, happening, after, underWay, isLooking } of entries) {
        const isLastLook = after.state === "leaving" && after.step === "looking";
        if (isLastLook) expect(isLooking).toBe(true);
        else expect(underWay.length).toBe(after.state === "gone" ? 0 : 1);
        if (after.state === "driving" && after.stopped === null) expect(underWay[0]?.kind).toBe("drive");
        const isWait = before.state === "in_line" && before.step === "waiting";
        const ends = ["looked", "look_failed", "pause_asked", "wait_over"].includes(happening.kind);
        if (isWait && ends) expect(after).not.toMatchObject({ step: "waiting" });
      }
    });
  });

  it("process-6 goes to rest by itself only when nothing is due, and forgets no task that is due", () => {
    always(({ cut, entries }) => {
      for (const { before, after, queue, heard } of entries)
        if (
          !isDecided(before) &&
          after.state === "leaving" &&
          after.step === "resting" &&
          after.why === "idle"
        )
          expect([queue, heard]).toEqual([[], []]);
      // Only the first task in the queue is driven: no cancelled one, and none before a more urgent one.
      for (const { effects, queue } of entries)
        for (const effect of effects)
          if (effect.kind === "drive" && effect.work.kind === "queued")
            expect(queue[0]).toBe(effect.work.request);
      const driven = effectsOf(entries).flatMap((effect) =>
        effect.kind === "drive" ? [effect.work.request] : [],
      );
      expect(new Set(driven).size).toBe(driven.length);
      const isKept = cut && !cut.isStartedAgain && !entries.some(isFailure);
      if (isKept || (cut && !entries.some(endsIt))) expect(driven).toContain("cut");
      if (!entries.some(endsIt)) expect(entries.at(-1)).toMatchObject({ queue: [], heard: [] });
    });
  });

  it("waits longer for a place each time, up to a minute, but asks again at once if it was rung meanwhile", () => {
    const next = "task";
    const denied: Happening = { kind: "place_denied", next };
    const told = (...happenings: Happening[]) => {
      let life: Life = begin.life;
      const effects = happenings.flatMap((happening) => {
        const taken = step(life, happening);
        life = taken.life;
        return taken.effects;
      });
      return effects.map((effect) => (effect.kind === "wait" ? effect.timeoutMs : effect.kind));
    };
    const arrived: Happening = { kind: "arrived", cut: null, next };
    const again: Happening[] = Array.from({ length: 6 }, () => [
      denied,
      { kind: "wait_over" } as const,
    ]).flat();
    const waits = told(arrived, ...again).filter((what) => typeof what === "number");
    expect(waits).toEqual([2000, 4000, 8000, 16_000, 32_000, 60_000]);
    expect(told(arrived, { kind: "looked", next }, denied, denied)).toEqual(["ask_place", "ask_place", 4000]);
  });

  it("ends a turn for the first reason that comes; a later one only decides what happens next", () => {
    const work: Work = { kind: "queued", request: "task" };
    const driving: Life = { state: "driving", work, stopped: null };
    const interrupted = step(driving, { kind: "interrupt_asked" });
    expect(interrupted.effects).toEqual([{ kind: "stop_turn", by: "interrupt" }]);
    const paused = step(interrupted.life, { kind: "pause_asked" });
    expect(paused.effects).toEqual([]);
    const ended: Happening = { kind: "drive_ended", isPaused: false, next: "other" };
    expect(step(interrupted.life, ended).life).toMatchObject({
      state: "in_line",
      work: { request: "other" },
    });
    expect(step(paused.life, ended).life).toMatchObject({ state: "leaving", step: "resting", why: "asked" });
  });
});
