/**
 * Records of a task as its journal would have them, for tests of what is made from records.
 */
import { createHash } from "node:crypto";
import type { JournalRecord, JsonObject } from "../../src/contract/index.ts";

export const SESSION = "sess_01hv7m00000000000000000000";
export const TREE = "a".repeat(40);

export type Told = readonly [type: string, data: JsonObject, more?: { epoch?: number; at?: string }];

/** Records with consecutive numbers, a second apart. */
export function recordsOf(told: readonly Told[]): JournalRecord[] {
  return told.map(([type, data, { epoch = 1, at } = {}], index) => ({
    seq: index + 1,
    at: at ?? new Date(Date.UTC(2026, 0, 31, 12, 0, index)).toISOString(),
    epoch,
    durable: index,
    type,
    data,
    hash: createHash("sha256").update(`${index}`).digest("hex"),
  }));
}

export const said = (content: string): Told => ["message_added", { turn: 1, role: "assistant", content }];
export const called = (call: string, tool: string, outcome: string): readonly [Told, Told] => [
  ["tool_called", { turn: 1, call, tool, args: { path: "private" } }],
  ["tool_returned", { turn: 1, call, outcome, output: "private too" }],
];
export const checked = (check: string, passed: boolean): readonly [Told, Told] => [
  ["check_started", { task: 1, check, tree: TREE }],
  [
    "check_ended",
    { task: 1, check, tree: TREE, passed, exitCode: passed ? 0 : 1, durationMs: 5, output: "" },
  ],
];
