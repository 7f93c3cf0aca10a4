/**
 * Approvals and questions wait for a person until something ends them, and no approval is granted too late.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isWaiting } from "../../src/session/index.ts";
import { refusal } from "../../src/session/machine.ts";
import { type Event, folded, next, second } from "../support/fold.ts";

const fingerprint = "f".repeat(64);
const inTurn: Event = ["turn_started", { turn: 1, input: "x" }];

describe("requests to a person", () => {
  it("a session waits while an approval or a question is pending, and goes on after the last answer", () => {
    const asked = folded(
      inTurn,
      ["approval_requested", { approval: "a1", fingerprint }],
      ["question_asked", { question: "q1" }],
    );
    expect(isWaiting(asked)).toBe(true);
    expect(asked.pending).toEqual({
      a1: { kind: "approval", task: null, fingerprint, expiresAt: null },
      q1: { kind: "question", task: null, fingerprint: null, expiresAt: null },
    });
    const half = next(asked, ["approval_granted", { approval: "a1", by: "ani", grant: {} }]);
    expect(isWaiting(half)).toBe(true);
    const done = next(half, ["question_answered", { question: "q1", by: "ani", text: "" }]);
    expect(done).toMatchObject({ status: "active", pending: {} });
    expect(isWaiting(done)).toBe(false);
    expect(refusal(half, "approval_granted", { approval: "a1" }, half.updatedAt)).toMatchObject({
      code: "invalid_data",
    });
  });

  it("a resumed session keeps its pending requests, and a fork or an import does not get them", () => {
    const paused = folded(
      inTurn,
      ["question_asked", { question: "q1" }],
      ["turn_ended", { turn: 1, outcome: "completed", durationMs: 1 }],
      ["session_paused", { reason: "asked" }],
    );
    expect(next(paused, ["session_resumed", { from: "paused" }])).toMatchObject({
      status: "open",
      pending: { q1: { kind: "question" } },
    });
    const forked = next(paused, [
      "session_forked",
      {
        session: "sess_b",
        user: "ani",
        parent: "sess_a",
        parentSeq: 5,
        parentHash: "h",
        atTurn: 1,
      },
    ]);
    expect(forked).toMatchObject({
      id: "sess_b",
      status: "open",
      pending: {},
      turns: 1,
      parent: { id: "sess_a", turn: 1 },
      spent: { turns: 0 },
    });
    expect(next(paused, ["session_imported", { user: "bo" }])).toMatchObject({
      status: "paused",
      user: "bo",
      pending: {},
    });
  });

  it("a pending request does not stop a turn from beginning", () => {
    const asked = folded(["question_asked", { question: "q1" }]);
    const begun = next(asked, ["turn_started", { turn: 1, input: "x" }]);
    expect(begun).toMatchObject({ status: "active", turns: 1, oddities: 0 });
    expect(isWaiting(begun)).toBe(true);
  });

  it("requests end when their task ends or the next task starts; requests without a task stay", () => {
    const asked = folded(
      ["question_asked", { question: "before" }],
      ["task_started", { task: 1 }],
      ["question_asked", { question: "unsaid" }],
      ["approval_requested", { approval: "said", fingerprint, task: 1 }],
    );
    expect(asked.pending).toMatchObject({ before: { task: null }, unsaid: { task: 1 }, said: { task: 1 } });
    expect(Object.keys(next(asked, ["task_ended", { task: 1, outcome: "done" }]).pending)).toEqual([
      "before",
    ]);
    expect(Object.keys(next(asked, ["task_started", { task: 2 }]).pending)).toEqual(["before"]);
    expect(next(asked, ["session_rewound", { toTurn: 0, fromTurn: 0, history: [] }]).pending).toEqual({});
  });

  it("a pending request can't be changed", () => {
    const asked = folded(["approval_requested", { approval: "a1", fingerprint }]);
    const again = next(asked, ["approval_requested", { approval: "a1", fingerprint: "0".repeat(64) }]);
    expect(again).toMatchObject({ pending: { a1: { fingerprint } }, oddities: 1 });
  });

  it("an approval can't be granted at or after its expiry, or if that time is invalid, but it can be denied", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 9 }), (expires, granted) => {
        const asked = folded([
          "approval_requested",
          { approval: "a1", fingerprint, expiresAt: second(expires) },
        ]);
        const grant = { approval: "a1", by: "ani", grant: {} };
        const isLate = granted >= expires;
        expect(refusal(asked, "approval_granted", grant, second(granted)) !== undefined).toBe(isLate);
        expect(isWaiting(next(asked, ["approval_granted", grant], second(granted)))).toBe(isLate);
        expect(isWaiting(next(asked, ["approval_denied", { approval: "a1", by: "ani" }]))).toBe(false);
      }),
      { numRuns: 100 },
    );
    for (const expiresAt of ["soon", "", 7, null, "9999", "2970-01-01"]) {
      const odd = folded(["approval_requested", { approval: "a1", fingerprint, expiresAt }]);
      expect(isWaiting(next(odd, ["approval_granted", { approval: "a1" }])), String(expiresAt)).toBe(true);
    }
  });

  it("the name of an object property, such as constructor, is not a pending request", () => {
    const state = folded(["approval_granted", { approval: "constructor" }]);
    expect(state).toMatchObject({ oddities: 1, pending: {} });
  });
});
