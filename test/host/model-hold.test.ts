/**
 * What holds back a request to a model: here the session's budget, with a clock that the test controls.
 */
import { describe, expect, it } from "vitest";
import { type Held, keyOf, ModelHold, whyHeldByBudget } from "../../src/host/model-hold.ts";
import { TestHome } from "../support/home.ts";

const MINUTE_MS = 60_000;

describe("a budget of minutes", () => {
  it("holds a request in the middle of the turn that reaches it, and lets the request go when it is raised", async () => {
    using home = new TestHome();
    let nowMs = 0;
    const clock = { nowMs: () => 1_000_000_000_000 + nowMs, monotonicMs: () => nowMs };
    const session = await (await home.open({ clock })).openSession({ budget: { minutes: 10 } });
    const why = () => whyHeldByBudget(session, "any", true);
    const first = await session.beginTurn("first");
    nowMs += 4 * MINUTE_MS;
    await first.end();
    // Between two turns no time is spent.
    nowMs += 60 * MINUTE_MS;
    const turn = await session.beginTurn("second");
    nowMs += 6 * MINUTE_MS - 1;
    expect(why()).toBeUndefined();
    const { seq } = session.position;
    nowMs += 1;
    const held: unknown[] = [];
    const hold = new ModelHold(session, { clock, holdMs: MINUTE_MS, onHeld: (one) => held.push(one) });
    const passed = hold.pass({ provider: "any" }, why, new AbortController().signal);
    expect(why()).toMatchObject({ why: { reason: "budget", detail: "the budget is reached: minutes" } });
    expect(session.position.seq).toBe(seq);
    await session.raiseBudgetBy({ minutes: 1 }, { by: "user:ani" });
    expect(await passed).toBeUndefined();
    expect(held).toHaveLength(1);

    // The time of the turn is counted only once.
    nowMs += MINUTE_MS - 1;
    await turn.end();
    expect(why()).toBeUndefined();
    expect(session.spentSoFar).toEqual(session.state.spent);
    await session.close();
  });
});

describe("the time for which requests are held", () => {
  const limits: Held = { need: "limits", why: { reason: "budget", detail: "tokens" } };
  const key: Held = { need: keyOf("gate"), why: { reason: "key", detail: "no key" } };
  const price: Held = { need: "price", why: { reason: "price", detail: "no price" } };

  /** What keeps requests, and the clock, are the test's. */
  async function holding(home: TestHome) {
    let nowMs = 0;
    const clock = { nowMs: () => 1_000_000_000_000 + nowMs, monotonicMs: () => nowMs };
    const session = await (await home.open({ clock })).openSession();
    const told: unknown[] = [];
    const hold = new ModelHold(session, {
      clock,
      holdMs: 5 * MINUTE_MS,
      onHeld: (one) => told.push(one.detail),
    });
    const world: { held: Held | undefined } = { held: limits };
    const ask = (isFree = false) => {
      const gone = new AbortController();
      let looks = 0;
      const seen = Promise.withResolvers<void>();
      const passed = hold.pass(
        { provider: "gate", isFree },
        () => {
          looks += 1;
          // The first wait of a request ends at once.
          if (looks === 2) seen.resolve();
          return isFree ? undefined : world.held;
        },
        gone.signal,
      );
      return { passed, waits: seen.promise, hangUp: () => gone.abort() };
    };
    const later = (minutes: number) => {
      nowMs += minutes * MINUTE_MS;
      hold.tell();
    };
    return { session, hold, told, world, ask, later };
  }

  it("runs on when the agent's client hangs up and asks again, and a person is told once", async () => {
    using home = new TestHome();
    const { session, hold, told, ask, later } = await holding(home);
    for (let minute = 0; minute < 4; minute += 1) {
      const { passed, waits, hangUp } = ask();
      await waits;
      later(1);
      hangUp();
      expect(await passed).toEqual(limits.why);
    }
    const last = ask();
    await last.waits;
    let isOver = false;
    last.passed.then(() => {
      isOver = true;
    });
    later(0.9);
    const beside = ask();
    await beside.waits;
    expect(isOver).toBe(false);
    later(0.1);
    expect(await Promise.all([last.passed, beside.passed])).toEqual([limits.why, limits.why]);
    expect(told).toEqual(["tokens"]);
    // A request that comes later finds that it was waited for long enough.
    expect(await ask().passed).toEqual(limits.why);
    expect(hold.held).toEqual(limits.why);
    await session.close();
  });

  it("runs on while requests pass that cost nothing, which the budget does not judge", async () => {
    using home = new TestHome();
    const { session, hold, told, ask, later } = await holding(home);
    const first = ask();
    await first.waits;
    for (let minute = 0; minute < 5; minute += 1) {
      expect(await ask(true).passed).toBeUndefined();
      expect(hold.held).toEqual(limits.why);
      later(1);
    }
    expect(await first.passed).toEqual(limits.why);
    expect(told).toEqual(["tokens"]);
    await session.close();
  });

  it("begins again after a request has passed", async () => {
    using home = new TestHome();
    const { session, hold, told, world, ask, later } = await holding(home);
    const first = ask();
    await first.waits;
    later(4);
    world.held = undefined;
    hold.tell();
    expect(await first.passed).toBeUndefined();
    expect(hold.held).toBeUndefined();
    world.held = limits;
    const second = ask();
    await second.waits;
    later(4);
    const third = ask();
    await third.waits;
    later(1);
    expect(await Promise.all([second.passed, third.passed])).toEqual([limits.why, limits.why]);
    expect(told).toEqual(["tokens", "tokens"]);
    await session.close();
  });

  it("is another one for the key and the price, and a client that hung up counts as none that passed", async () => {
    using home = new TestHome();
    const { session, hold, told, world, ask, later } = await holding(home);
    for (const held of [limits, key, price]) {
      world.held = held;
      const { passed, waits, hangUp } = ask();
      await waits;
      later(2);
      hangUp();
      world.held = undefined;
      await passed;
      expect(hold.held).toEqual(held.why);
    }
    expect(told).toEqual(["tokens", "no key", "no price"]);
    // Six minutes after the first one: it had five.
    world.held = limits;
    expect(await ask().passed).toEqual(limits.why);
    await session.close();
  });
});
