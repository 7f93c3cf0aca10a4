/**
 * What holds back a request to a model: here the session's budget, with a clock that the test controls.
 */
import { describe, expect, it } from "vitest";
import { ModelHold, whyHeldByBudget } from "../../src/host/model-hold.ts";
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
    const passed = hold.pass(why, new AbortController().signal);
    expect(why()).toEqual({ reason: "budget", detail: "the budget is reached: minutes" });
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
