import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JournalRecord, JsonObject } from "../../src/contract/index.ts";
import { emptyState, fold, historyOf } from "../../src/session/index.ts";

const event = fc.oneof(
  fc.record({ type: fc.constant("turn_started"), turn: fc.integer({ min: 1, max: 3 }) }),
  fc.record({
    type: fc.constantFrom("tool_called", "tool_returned"),
    turn: fc.integer({ min: 1, max: 3 }),
    call: fc.constantFrom("a", "b", "c"),
  }),
  fc.record({
    type: fc.constantFrom("message_added", "turn_ended", "custom"),
    turn: fc.integer({ min: 1, max: 3 }),
  }),
);

/** How many results in turns that ended came after a call of the same name in the same turn. */
function pairsIn(
  events: readonly { readonly type: string; readonly turn: number; readonly call?: string }[],
) {
  let ended = 0;
  let pairs = 0;
  let turn: number | undefined;
  let open: string[] = [];
  for (const { type, turn: of, call = "" } of events) {
    if (type === "turn_started") [turn, open, pairs] = [of, [], 0];
    if (of !== turn) continue;
    if (type === "tool_called") open.push(call);
    if (type === "tool_returned" && open.includes(call)) {
      open.splice(open.indexOf(call), 1);
      pairs += 1;
    }
    if (type === "turn_ended") [ended, turn] = [ended + pairs, undefined];
  }
  return ended;
}

describe("history", () => {
  it("machine-1 a rewind to turns that never existed adds none of them to the history", () => {
    const rows: [string, JsonObject][] = [
      ["session_opened", { session: "s", user: "u" }],
      ["turn_started", { turn: 1 }],
      ["turn_ended", { turn: 1, outcome: "done" }],
      [
        "session_rewound",
        {
          toTurn: 9,
          fromTurn: 1,
          history: [
            [1, 1],
            [4, 9],
            [2, 1e300],
          ],
        },
      ],
      ["turn_started", { turn: 2 }],
    ];
    const state = rows.reduce(
      (before, [type, data], index) =>
        fold(before, { seq: index + 1, at: "", epoch: 1, durable: index, type, data, hash: "" }),
      emptyState,
    );
    expect(state.history).toEqual([[1, 2]]);
  });

  it("history-1 has no call without a result and no result without a call, whatever the records contain", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 60 }), async (events) => {
        const records = (async function* (): AsyncGenerator<JournalRecord> {
          for (const [index, { type, ...data }] of events.entries()) {
            yield {
              seq: index + 1,
              at: "",
              epoch: 1,
              durable: index,
              type,
              data: { ...data, output: index } as JsonObject,
              hash: "",
            };
          }
        })();
        let calls = 0;
        for await (const { entries } of historyOf(records, { history: [[0, 1_000_000]] })) {
          for (const entry of entries) {
            expect(["message", "tool_call"]).toContain(entry.kind);
            if (entry.kind !== "tool_call") continue;
            calls += 1;
            // Its output is one that was recorded for this call.
            expect(events[entry.output as number]).toMatchObject({ type: "tool_returned", call: entry.call });
          }
        }
        expect(calls).toBe(pairsIn(events));
      }),
      { numRuns: 1000 },
    );
  });
});
