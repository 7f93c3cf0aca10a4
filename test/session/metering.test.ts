/**
 * How the fold treats metered usage, budgets and parked tasks.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expensesIn, reachedLimits } from "../../src/session/index.ts";
import { tokensIn } from "../../src/session/state.ts";
import { type Event, folded, next } from "../support/fold.ts";
import { TestHome } from "../support/home.ts";
import { usage } from "../support/parking.ts";

const started: Event = ["task_started", { task: 1 }];
const parked: Event = ["task_parked", { task: 1, reason: "budget" }];
const unparked: Event = ["task_unparked", { task: 1, by: "user:ani" }];

describe("metered usage", () => {
  const kinds = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "usd"] as const;
  const amounts = fc.record(
    Object.fromEntries(kinds.map((kind) => [kind, fc.nat({ max: 1_000_000 })])),
  ) as fc.Arbitrary<Record<(typeof kinds)[number], number>>;

  it("counts as spent at once, and is added to the usage that turns report", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), amounts), { maxLength: 20 }), (all) => {
        let state = folded(started);
        let turn = 0;
        for (const [isTurn, usage] of all) {
          const before = state.spent;
          turn += isTurn ? 1 : 0;
          const events: Event[] = isTurn
            ? [
                ["turn_started", { turn, input: "x" }],
                ["turn_ended", { turn, outcome: "completed", durationMs: 1, usage }],
              ]
            : [
                [
                  "usage_metered",
                  { task: 1, request: "r", provider: "p", model: "m", isPriced: true, ...usage },
                ],
              ];
          for (const event of events) state = next(state, event);
          for (const kind of kinds) expect(state.spent[kind]).toBe(before[kind] + usage[kind]);
        }
        expect(state).toMatchObject({ oddities: 0, spent: { turns: turn, durationMs: turn } });
        const sum = all.reduce((tokens, [, usage]) => tokens + tokensIn(usage), 0);
        expect(tokensIn(state.spent)).toBe(sum);
      }),
      { numRuns: 200 },
    );
  });

  it("counts against the budget while the turn is open, with cached tokens; invalid amounts are ignored", () => {
    const open = folded(
      started,
      ["budget_raised", { budget: { tokens: 100, usd: 1 } }],
      ["turn_started", { turn: 1, input: "x" }],
    );
    const metered = (data: Record<string, number | string>): Event => ["usage_metered", { task: 1, ...data }];
    expect(reachedLimits(next(open, metered({ inputTokens: 60, cacheReadTokens: 40 })))).toEqual(["tokens"]);
    expect(reachedLimits(next(open, metered({ inputTokens: 60, usd: 1.5 })))).toEqual(["usd"]);
    expect(next(open, metered({ inputTokens: -5, outputTokens: "many", usd: "1" })).spent).toEqual(
      open.spent,
    );
  });
});

describe("the spending of each agent", () => {
  it("is counted for the agent that ran the task, not for the agent that the session was opened with", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession({ agent: "first" });
    const turnOf = async (task: number, definition: string) => {
      const request = `task_${task}`;
      const agent = { adapter: "claude", prompt: "x", continues: false, input: "messages" } as const;
      await session.append("task_queued", { request, spec: { agent, definition, sandbox: true } });
      await session.append("task_started", { task, request });
      const turn = await session.beginTurn("x");
      await session.append("usage_metered", { ...usage, task, request: `${task}.1`, inputTokens: task });
      await turn.end();
      // A model's answer may end after the task that requested it.
      await session.append("usage_metered", { ...usage, task: 1, request: `${task}.2`, outputTokens: 1 });
      await session.append("task_ended", { task, outcome: "done" });
    };
    await turnOf(1, "agent:first");
    await turnOf(2, "agent:second");
    await turnOf(3, "exec:sh");
    await session.close();
    const sums: Record<string, [tokens: number, turns: number]> = {};
    for (const one of await expensesIn(hf.readJournal(session.id))) {
      const [tokens, turns] = sums[one.agent ?? "-"] ?? [0, 0];
      sums[one.agent ?? "-"] = [tokens + tokensIn(one), turns + one.turns];
    }
    expect(sums).toEqual({ first: [4, 1], second: [2, 1], "-": [3, 1] });
  });
});

describe("a parked task", () => {
  it("stays open with its reason and time until a record unparks it or the task ends", () => {
    const until = "2026-11-16T20:00:00.000Z";
    const limited = folded(started, [
      "task_parked",
      { task: 1, reason: "usage_limit", until, detail: "anthropic" },
    ]);
    expect(limited.task).toMatchObject({
      outcome: null,
      parked: { reason: "usage_limit", until, detail: "anthropic" },
    });
    expect(next(limited, unparked).task).toMatchObject({ outcome: null, parked: null });
    const ends: Event[] = [
      ["task_ended", { task: 1, outcome: "cancelled" }],
      ["session_rewound", { toTurn: 0, fromTurn: 0, history: [] }],
      ["session_imported", { user: "ani" }],
    ];
    for (const end of ends) expect(next(limited, end).task?.parked, end[0]).toBeNull();
    const odd = folded(started, ["task_parked", { task: 1, reason: "moon", until: "soon" }]);
    expect(odd.task?.parked).toEqual({ reason: "key", until: null, detail: null });
  });

  it("can be parked only once, while under way and between turns, and begins no turn until it is unparked", () => {
    const odd = (...events: Event[]) => folded(...events).oddities;
    expect(odd(started, parked)).toBe(0);
    expect(odd(parked)).toBe(1);
    expect(odd(started, ["task_parked", { task: 2, reason: "budget" }])).toBe(1);
    expect(odd(started, ["task_ended", { task: 1, outcome: "done" }], parked)).toBe(1);
    expect(odd(started, ["turn_started", { turn: 1, input: "x" }], parked)).toBe(1);
    expect(odd(started, parked, parked)).toBe(1);
    expect(odd(started, unparked)).toBe(1);
    expect(odd(started, parked, ["turn_started", { turn: 1, input: "x" }])).toBe(1);
    expect(odd(started, parked, unparked, ["turn_started", { turn: 1, input: "x" }])).toBe(0);
    // The budget may already have paused the session.
    expect(odd(started, ["session_paused", { reason: "budget" }], parked)).toBe(0);
  });
});

describe("a budget", () => {
  it("is raised by the sum of all concurrent raises; a limit that was never set can't be raised", async () => {
    using home = new TestHome();
    const session = await (await home.open()).openSession({ budget: { usd: 1, turns: 3 } });
    const by = "user:ani";
    await Promise.all([2, 3, 4].map((usd) => session.raiseBudgetBy({ usd, turns: 1 }, { by })));
    expect(session.state.budget).toEqual({ usd: 10, turns: 6 });
    await expect(session.raiseBudgetBy({ usd: 1, tokens: 5 }, { by })).rejects.toMatchObject({
      code: "invalid_data",
      facts: { field: "tokens" },
    });
    expect(session.state.budget).toEqual({ usd: 10, turns: 6 });
    await session.close();
  });
});
