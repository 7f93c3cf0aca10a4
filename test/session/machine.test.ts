import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type EventType, eventForms, type JournalRecord, type JsonObject } from "../../src/contract/index.ts";
import { emptyState, fold, reachedLimits, type SessionState } from "../../src/session/index.ts";
import { refusal } from "../../src/session/machine.ts";

function record(seq: number, type: string, data: JsonObject): JournalRecord {
  return {
    seq,
    at: new Date(seq * 1000).toISOString(),
    epoch: 1,
    durable: seq - 1,
    type,
    data,
    hash: String(seq),
  };
}

function run(...events: [string, JsonObject][]): SessionState {
  return events.reduce(
    (state, [type, data], index) => fold(state, record(index + 1, type, data)),
    emptyState,
  );
}

const opened: [string, JsonObject] = [
  "session_opened",
  { session: "sess_a", user: "ani", budget: { tokens: 100 } },
];
const types = Object.keys(eventForms) as EventType[];
const turnData = fc.record({
  turn: fc.integer({ min: 0, max: 3 }),
  call: fc.constantFrom("a", "b", "__proto__"),
  approval: fc.constantFrom("x", "constructor"),
  question: fc.constantFrom("x", "q"),
  task: fc.integer({ min: 0, max: 3 }),
  stage: fc.constantFrom("act", "persist", "dance"),
  expiresAt: fc.constantFrom("1970-01-01T00:00:03.000Z", "2970-01-01T00:00:00.000Z", "soon"),
});
const anyData = fc.oneof(
  turnData,
  fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }),
) as fc.Arbitrary<JsonObject>;
const anyEvent = fc.tuple(fc.oneof(fc.constantFrom(...types), fc.string()), anyData);

describe("the fold", () => {
  it("machine-1 accepts any sequence of records without throwing, and counts every one", () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 40 }), (events) => {
        const state = run(...events);
        expect(state.seq).toBe(events.length);
        expect(JSON.parse(JSON.stringify(state))).toEqual(state);
      }),
      { numRuns: 2000 },
    );
  });

  it("rewind-1 takes back history, files and HOME on a rewind, ends requests, and keeps spending, queue and messages", () => {
    const turn = (number: number): [string, JsonObject][] => [
      ["turn_started", { turn: number, input: "x" }],
      ["turn_ended", { turn: number, outcome: "completed", durationMs: 1, usage: { inputTokens: 5 } }],
    ];
    const before: [string, JsonObject][] = [
      opened,
      ["task_queued", { request: "task_1", spec: {} }],
      ["task_queued", { request: "task_2", spec: {} }],
      ["task_started", { task: 1, request: "task_1" }],
      ["message_received", { message: "msg_1", from: "user:ani", text: "hello" }],
      ...turn(1),
      ...turn(2),
      ["turn_started", { turn: 3, input: "x" }],
      ["question_asked", { question: "q", text: "?" }],
      ["turn_ended", { turn: 3, outcome: "completed", durationMs: 1 }],
    ];
    const asked = run(...before);
    expect(asked).toMatchObject({
      status: "active",
      pending: { q: { kind: "question" } },
      history: [[1, 3]],
    });
    const data = { toTurn: 1, fromTurn: 3, history: [[1, 1]], home: {}, base: "b".repeat(40) };
    const rewound = run(...before, ["session_rewound", data]);
    expect(rewound).toMatchObject({
      status: "active",
      pending: {},
      history: [[1, 1]],
      turns: 3,
      home: { commit: "" },
      task: { number: 1, snapshot: null, capsule: "rewound", outcome: "rewound" },
      spent: asked.spent,
      queue: asked.queue,
      unread: asked.unread,
    });
    expect(run(...before, ["session_rewound", data], ...turn(4)).history).toEqual([
      [1, 1],
      [4, 4],
    ]);
    // Invalid ranges are dropped from the history.
    const odd = { ...data, history: [[3, 1], "x", [2, 2], [1, 1], [5, "6"], null] };
    expect(run(...before, ["session_rewound", odd as unknown as JsonObject]).history).toEqual([[2, 2]]);
  });

  it("machine-1 counts records of unknown types, as a newer version writes them, and folds the rest", () => {
    const state = run(
      opened,
      ["session_teleported", { to: "mars" }],
      ["turn_started", { turn: 1, input: "x" }],
    );
    expect(state).toMatchObject({ unknown: 1, oddities: 0, turns: 1, status: "active" });
  });

  it("machine-3 applies every record that refusal() allows and ignores every record that it refuses", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...types), turnData as fc.Arbitrary<JsonObject>), {
          maxLength: 60,
        }),
        (events) => {
          let state = run(opened);
          for (const [type, data] of events) {
            const recorded = record(state.seq + 1, type, data);
            const isRefused = refusal(state, type, data, recorded.at) !== undefined;
            const next = fold(state, recorded);
            expect(next.oddities).toBe(state.oddities + (isRefused ? 1 : 0));
            if (isRefused)
              expect({ ...next, seq: 0, hash: "", updatedAt: "", oddities: 0 }).toEqual({
                ...state,
                seq: 0,
                hash: "",
                updatedAt: "",
                oddities: 0,
              });
            state = next;
          }
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("machine-2 keeps the state as small after ten thousand turns as after one", () => {
    const turn = (number: number): [string, JsonObject][] => [
      ["turn_started", { turn: number, input: "x" }],
      ["tool_called", { turn: number, call: `c${number}`, tool: "t", args: {} }],
      ["tool_returned", { turn: number, call: `c${number}`, outcome: "ok", output: "" }],
      ["turn_ended", { turn: number, outcome: "completed", usage: { inputTokens: 1 }, durationMs: 1 }],
    ];
    const few = JSON.stringify(run(opened, ...turn(1))).length;
    const many = JSON.stringify(
      run(opened, ...Array.from({ length: 10_000 }, (_, index) => turn(index + 1)).flat()),
    ).length;
    expect(many - few).toBeLessThan(60);
  });

  it("adds up usage and reports which limits are reached", () => {
    const state = run(
      opened,
      ["turn_started", { turn: 1, input: "x" }],
      [
        "turn_ended",
        {
          turn: 1,
          outcome: "completed",
          usage: { inputTokens: 90, outputTokens: 20, usd: 0.5 },
          durationMs: 1500,
        },
      ],
    );
    expect(state.spent).toEqual({
      inputTokens: 90,
      outputTokens: 20,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      usd: 0.5,
      durationMs: 1500,
      turns: 1,
    });
    expect(reachedLimits(state)).toEqual(["tokens"]);
    expect(
      reachedLimits(fold(state, record(4, "budget_raised", { budget: { tokens: 200, turns: 1 } }))),
    ).toEqual(["turns"]);
  });
});
