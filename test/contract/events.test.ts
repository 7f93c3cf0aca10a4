/**
 * The schemas of events keep the fields that they do not know.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type EventType, eventSchema } from "../../src/contract/events.ts";

/** One event of each topic, complete as this version writes it. */
const records: readonly (readonly [EventType, object])[] = [
  ["session_paused", { reason: "asked" }],
  ["turn_started", { turn: 1, input: "fix the login" }],
  ["message_added", { turn: 1, role: "user", content: "fix the login" }],
  ["tool_called", { turn: 1, call: "call_1", tool: "run_command", args: { command: "true" } }],
  ["custom", { name: "acme.step" }],
];

/** Fields of a newer writer, with names that no field of this version has. */
const unknownFields = fc.dictionary(
  fc.stringMatching(/^[a-z]{1,8}$/).map((name) => `later_${name}`),
  fc.jsonValue(),
  { minKeys: 1 },
);

describe("an event of a newer writer", () => {
  it("event-2 keeps the fields that this version does not know", () => {
    fc.assert(
      fc.property(fc.constantFrom(...records), unknownFields, ([type, data], extra) => {
        const record = { ...data, ...extra };
        expect(eventSchema(type).parse(record)).toEqual(record);
      }),
    );
  });
});
