/**
 * The standing of a session, in the words of `ls`: each word, and the facts that it follows from.
 */
import { describe, expect, it } from "vitest";
import { type Stood, standOf } from "../../src/dispatch/standing.ts";
import type { TaskState } from "../../src/session/task-state.ts";

const task = (outcome: string | null, published: string | null = null) =>
  ({ number: 1, outcome, request: "task_1", published }) as TaskState;
const approval = { kind: "approval", task: 1, fingerprint: "f", expiresAt: null } as const;
const rest: Stood = {
  status: "paused",
  pausedFor: "idle",
  pid: null,
  task: task("done"),
  queue: 0,
  pending: {},
  handoff: null,
  waits: null,
};

describe("the standing of a session", () => {
  it("follows from its last task, from what stops it, or from what it waits for", () => {
    const cases: readonly [Partial<Stood>, string, string | null][] = [
      [{}, "done", null],
      [{ task: task("failed") }, "failed", null],
      [{ task: task("cancelled") }, "cancelled", null],
      [{ task: task("interrupted") }, "interrupted", null],
      [{ task: task("needs_review") }, "waiting for you", "its work needs a review"],
      [{ task: task("needs_review", "a commit") }, "done", null],
      [{ pending: { appr_1: approval }, status: "active" }, "waiting for you", "approval"],
      [{ status: "open", pausedFor: null, task: null }, "new", null],
      [{ status: "running", pausedFor: null, pid: 7, task: task(null) }, "working", null],
      [{ status: "open", pausedFor: null, pid: 7, task: null, queue: 1 }, "working", null],
      [{ status: "open", pausedFor: null, pid: 7 }, "done", null],
      [{ status: "open", pausedFor: null, pid: 7, queue: 1 }, "working", null],
      [{ status: "open", pausedFor: null, task: null, waits: "8 sessions run" }, "queued", "8 sessions run"],
      [
        { status: "interrupted", task: task(null) },
        "interrupted",
        "its process ended in the middle of a task",
      ],
      [{ pausedFor: "asked", task: task(null) }, "paused", null],
      [{ pausedFor: "budget" }, "paused", "its budget is reached"],
      [
        { task: { ...task(null), parked: { reason: "key", until: null, detail: "anthropic" } } },
        "parked",
        "it has no key (anthropic)",
      ],
      [
        {
          task: { ...task(null), parked: { reason: "budget", until: null, detail: null } },
          pid: 7,
          queue: 1,
        },
        "parked",
        "its budget is reached",
      ],
      [{ pausedFor: "asked", queue: 2 }, "paused", "tasks wait in it"],
      [{ task: task("rewound") }, "paused", null],
      [{ status: "handed_off", handoff: { to: "ani", directory: "/d" } }, "handed off", "ani has it"],
      [{ status: "closed" }, "closed", null],
      [{ status: "archived" }, "archived", null],
      [{ status: "damaged" }, "damaged", null],
    ];
    for (const [facts, standing, why] of cases)
      expect(standOf({ ...rest, ...facts }), JSON.stringify(facts)).toEqual({ standing, why });
  });
});
