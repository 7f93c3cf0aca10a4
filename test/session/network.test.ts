/**
 * The hosts that a person allows while a task runs: they are recorded, limited, and for that task only.
 */
import { describe, expect, it } from "vitest";
import { eventSchema } from "../../src/contract/index.ts";
import { type Event, folded, next } from "../support/fold.ts";

describe("hosts that a person allows while a task runs", () => {
  const started: Event = ["task_started", { task: 1, lane: "repo-fix", hosts: ["a.example"] }];
  const allowed = (host: unknown, task = 1): Event => [
    "host_allowed",
    { task, host, by: "user:ani" } as never,
  ];
  const hostsOf = (...events: Event[]) => folded(...events).task?.lane?.hosts;

  it("are added to the lane of the task, each of them once", () => {
    expect(hostsOf(started, allowed("b.example"), allowed("localhost:5432"), allowed("b.example"))).toEqual([
      "a.example",
      "b.example",
      "localhost:5432",
    ]);
  });

  it("are not allowed for the next task", () => {
    const ended: Event = ["task_ended", { task: 1, outcome: "done" }];
    const second: Event = ["task_started", { task: 2, lane: "repo-fix", hosts: [] }];
    expect(hostsOf(started, allowed("b.example"), ended, second)).toEqual([]);
  });

  it("are ignored if they are invalid or if the task is not running", () => {
    for (const one of [allowed("127.0.0.1"), allowed("https://x/"), allowed(7), allowed("b.example", 2)])
      expect(next(folded(started), one).task?.lane?.hosts, JSON.stringify(one)).toEqual(["a.example"]);
    const over = folded(started, ["task_ended", { task: 1, outcome: "done" }]);
    expect(next(over, allowed("b.example"))).toMatchObject({
      oddities: 1,
      task: { lane: { hosts: ["a.example"] } },
    });
  });

  it("machine-2 are limited to 200, and any more count as oddities", () => {
    const many = Array.from({ length: 300 }, (_, index) => allowed(`h${index}.example`));
    const state = folded(started, ...many);
    expect(state.task?.lane?.hosts.length).toBe(200);
    expect(state.oddities).toBe(101);
  });

  it("network_used takes counts of allowed and refused hosts, and no host without a count", () => {
    const schema = eventSchema("network_used");
    const counted = {
      allowed: [{ host: "a.example", connections: 2 }],
      refused: [{ host: `${"a.".repeat(125)}org:65535`, connections: 1 }],
      more: { allowed: 0, refused: 40 },
    };
    expect(schema.safeParse({ task: 1, turn: 2, ...counted }).success).toBe(true);
    expect(schema.safeParse({ task: 1, turn: 2, allowed: [], refused: [] }).success).toBe(true);
    expect(schema.safeParse({ task: 1, turn: 2, allowed: [{ host: "a" }], refused: [] }).success).toBe(false);
  });
});
