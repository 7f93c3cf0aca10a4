/**
 * What a session has to do next: one answer for each of its possible states.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type EventType, eventForms, type JsonObject } from "../../src/contract/index.ts";
import { drivenTask, isTaskOver, requestsDue, taskUnderWay, workDue } from "../../src/session/index.ts";
import { type Event, folded } from "../support/fold.ts";

const queued = (number: number): Event => ["task_queued", { request: `task_${number}`, spec: {} }];
const started = (task: number, request = `task_${task}`): Event => ["task_started", { task, request }];
const ended: Event = ["task_ended", { task: 1, outcome: "done" }];
const parked: Event = ["task_parked", { task: 1, reason: "budget" }];
const unparked: Event = ["task_unparked", { task: 1, by: "user:ani" }];
const tornDown: Event = ["capsule_torn_down", { task: 1, freedBytes: 0 }];

describe("the work that is due", () => {
  it("is derived from the state: begin a task, go on with it, end it, or nothing", () => {
    const cases: readonly [events: readonly Event[], due: object][] = [
      [[], { kind: "nothing", request: null }],
      [[queued(1)], { kind: "begin", request: "task_1" }],
      [[queued(1), queued(2), started(1)], { kind: "go_on", request: "task_1", task: 1 }],
      [[queued(1), queued(2), started(1), ended], { kind: "begin", request: "task_2" }],
      [[queued(1), started(1), ended], { kind: "nothing", request: null }],
      [[queued(1), queued(2), started(1), tornDown], { kind: "end", request: "task_1", task: 1 }],
      [[queued(1), started(1), ended, tornDown], { kind: "nothing", request: null }],
      // A parked task waits until it is unparked, and the tasks queued after it wait for its end.
      [[queued(1), queued(2), started(1), parked], { kind: "nothing", request: null }],
      [[queued(1), queued(2), started(1), parked, tornDown], { kind: "nothing", request: null }],
      [[queued(1), queued(2), started(1), parked, unparked], { kind: "go_on", request: "task_1", task: 1 }],
      [[queued(1), queued(2), started(1), parked, ended], { kind: "begin", request: "task_2" }],
      // A task without a request belongs to a harness, which goes on by itself.
      [[["task_started", { task: 1 }]], { kind: "nothing", request: null }],
      // A person rewound the session, and decides what comes next.
      [
        [queued(1), started(1), ["session_rewound", { toTurn: 0, fromTurn: 0, history: [] }]],
        { kind: "nothing", request: null },
      ],
      // A task that was cut off elsewhere, or in another session, does not go on here.
      [
        [queued(1), queued(2), started(1), ["session_imported", { user: "ani" }]],
        { kind: "nothing", request: null },
      ],
      [
        [queued(1), queued(2), started(1), ["session_forked", { session: "sess_b", user: "ani" }]],
        { kind: "nothing", request: null },
      ],
    ];
    for (const [events, due] of cases)
      expect(workDue(folded(...events)), JSON.stringify(events)).toEqual(due);
  });

  it("agrees with requestsDue, drivenTask, taskUnderWay and isTaskOver, whatever was recorded", () => {
    const types = Object.keys(eventForms) as EventType[];
    const often = [
      "task_queued",
      "task_started",
      "task_parked",
      "task_unparked",
      "task_ended",
      "capsule_torn_down",
    ];
    const data = fc.record(
      {
        task: fc.integer({ min: 1, max: 3 }),
        request: fc.constantFrom("task_1", "task_2", "task_3"),
        outcome: fc.constant("done"),
      },
      { requiredKeys: ["task"] },
    ) as fc.Arbitrary<JsonObject>;
    const event = fc.tuple(fc.oneof(fc.constantFrom(...often), fc.constantFrom(...types)), data);
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), (events) => {
        const state = folded(...events);
        const due = workDue(state);
        const requests = requestsDue(state);
        const isParked = taskUnderWay(state)?.parked != null;
        // A parked task is never due, and neither are the tasks queued after it.
        expect(due.request).toBe(isParked ? null : (requests[0] ?? null));
        expect(due.kind === "end" || due.kind === "go_on").toBe(!isParked && drivenTask(state) !== null);
        expect(drivenTask(state) === null || taskUnderWay(state) === state.task).toBe(true);
        for (const request of ["task_1", "task_2", "task_3"])
          expect(isTaskOver(state, request)).toBe(!requests.includes(request));
      }),
      { numRuns: 500 },
    );
  });
});
