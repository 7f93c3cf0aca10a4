/**
 * The trace of a task: the spans of its records, their ids, and what the trace leaves out.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/contract/index.ts";
import { MAX_SPANS, TaskTrace, type TraceFacts } from "../../../src/task/results/trace.ts";
import { called, checked, recordsOf, SESSION, type Told } from "../../support/told-records.ts";

const FACTS: TraceFacts = {
  outcome: "done",
  changed: { paths: ["api/auth.ts"], files: 1 },
  lane: "repo-fix",
  isSandboxed: true,
};

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly status: { readonly code?: number };
}

function traceOf(told: readonly Told[], facts = FACTS) {
  const trace = new TaskTrace(SESSION, 1);
  const records = recordsOf(told);
  for (const record of records) trace.add(record);
  const json = trace.json(facts);
  const spans: OtlpSpan[] = JSON.parse(json).resourceSpans[0].scopeSpans[0].spans;
  const named = (name: string) => spans.find((span) => span.name === name);
  return { json, spans, records, named };
}

const valueIn = (span: OtlpSpan | undefined, key: string) =>
  Object.values(span?.attributes.find((one) => one.key === key)?.value ?? {})[0];
const tookSeconds = (span: OtlpSpan | undefined) =>
  Number((BigInt(span?.endTimeUnixNano ?? 0) - BigInt(span?.startTimeUnixNano ?? 0)) / 1_000_000_000n);

const BEGUN: readonly Told[] = [
  ["task_queued", { request: "task_1", spec: {} }],
  ["task_started", { task: 1, request: "task_1", lane: "repo-fix" }],
  ["stage_ended", { task: 1, stage: "route" }],
  ["capsule_created", { task: 1, strategy: "overlay", durationMs: 2000 }],
  ["stage_ended", { task: 1, stage: "capsule" }],
  ["stage_started", { task: 1, stage: "act" }],
  ["turn_started", { turn: 1, input: "private words" }],
];
const METERED: Told = [
  "usage_metered",
  {
    task: 1,
    turn: 1,
    request: "req_1",
    provider: "anthropic",
    model: "claude-x",
    inputTokens: 10,
    outputTokens: 5,
    cacheReadTokens: 100,
    cacheWriteTokens: 7,
    usd: 0.5,
    isPriced: true,
  },
];
const ACTED: readonly Told[] = [
  ["conversation_begun", { task: 1, agent: "claude", conversation: "c", how: "new" }],
  METERED,
  ...called("1.1", "Bash", "error"),
  ["turn_ended", { turn: 1, outcome: "completed", durationMs: 4000 }],
  ["stage_ended", { task: 1, stage: "act", outcome: "done" }],
];
const VERIFIED: readonly Told[] = [
  ["stage_started", { task: 1, stage: "verify" }],
  ...checked("npm test", true),
  ["stage_ended", { task: 1, stage: "verify" }],
];
const KEPT: Told = ["stage_started", { task: 1, stage: "persist" }];
const WHOLE = [...BEGUN, ...ACTED, ...VERIFIED, KEPT];

describe("the trace of a task", () => {
  it("trace-1 has nested spans for stages, agent, requests, tool calls and checks, with ids from the journal", () => {
    const { spans, records, named } = traceOf(WHOLE);
    const tree = spans.map(({ name, parentSpanId }) => [
      name,
      spans.find(({ spanId }) => spanId === parentSpanId)?.name,
    ]);
    expect(tree).toEqual([
      ["session", undefined],
      ["task 1", "session"],
      ["stage route", "task 1"],
      ["stage capsule", "task 1"],
      ["stage act", "task 1"],
      ["invoke_agent claude", "stage act"],
      ["chat claude-x", "invoke_agent claude"],
      ["execute_tool Bash", "invoke_agent claude"],
      ["stage verify", "task 1"],
      ["check npm test", "stage verify"],
      ["stage persist", "task 1"],
    ]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    for (const span of spans.slice(2)) {
      const seq = Number(valueIn(span, "holdfast.seq"));
      expect(records[seq - 1]?.hash.startsWith(span.spanId), span.name).toBe(true);
    }
    const [root] = spans;
    expect(valueIn(root, "holdfast.session")).toBe(SESSION);
    expect(valueIn(root, "holdfast.lane")).toBe("repo-fix");
    expect(valueIn(root, "holdfast.changed_files")).toEqual({ values: [{ stringValue: "api/auth.ts" }] });
    expect(valueIn(named("chat claude-x"), "gen_ai.usage.input_tokens")).toBe("117");
    expect(valueIn(named("chat claude-x"), "gen_ai.conversation.id")).toBe(SESSION);
    expect(named("execute_tool Bash")?.status).toEqual({ code: 2 });
    expect(tookSeconds(named("stage capsule"))).toBe(2);
    expect(tookSeconds(named("invoke_agent claude"))).toBe(5);
  });

  it("has no text of messages, arguments or outputs", () => {
    expect(traceOf(WHOLE).json).not.toContain("private");
    expect(valueIn(traceOf(WHOLE).named("execute_tool Bash"), "holdfast.output_bytes")).toBe("11");
  });

  it("trace-1 is the same when a task's results are saved again after a kill", () => {
    const again: Told[] = [
      ["artifact_written", { task: 1, name: "trace.json", sha256: "0".repeat(64), bytes: 1 }],
      ["session_resumed", { from: "interrupted" }, { epoch: 2 }],
      [KEPT[0], KEPT[1], { epoch: 2 }],
    ];
    expect(traceOf([...WHOLE, ...again]).json).toBe(traceOf(WHOLE).json);
  });

  it("ends a span that a kill cut off at the last record of the owner that was killed", () => {
    const { spans } = traceOf([
      ...BEGUN,
      ["session_resumed", { from: "interrupted" }, { epoch: 2, at: "2026-01-31T18:00:00.000Z" }],
      [
        "turn_ended",
        { turn: 1, outcome: "interrupted", durationMs: 0 },
        { epoch: 2, at: "2026-01-31T18:00:01.000Z" },
      ],
      ["stage_started", { task: 1, stage: "act" }, { epoch: 2, at: "2026-01-31T18:00:02.000Z" }],
    ]);
    const [first, second] = spans.filter(({ name }) => name === "stage act");
    expect(tookSeconds(first)).toBe(1);
    expect(valueIn(first, "holdfast.outcome")).toBe("interrupted");
    expect(tookSeconds(second)).toBe(0);
  });

  it("trace-2 has a limited number of spans, reports how many it left out, and keeps the last check", () => {
    const calls = Array.from({ length: MAX_SPANS }, (_, index) => called(`1.${index}`, "Read", "ok")).flat();
    const { spans } = traceOf([...BEGUN, ...calls, ...ACTED, ...VERIFIED, KEPT]);
    expect(spans.length).toBeLessThanOrEqual(MAX_SPANS);
    expect(spans.at(-2)?.name).toBe("check npm test");
    const begun = 10 + MAX_SPANS + 1;
    expect(spans.length + Number(valueIn(spans[0], "holdfast.spans_left_out"))).toBe(begun);
    const turns = Array.from(
      { length: MAX_SPANS + 5 },
      (_, index): Told => ["turn_started", { turn: index + 1 }],
    );
    expect(traceOf([...BEGUN, ...turns]).spans).toHaveLength(MAX_SPANS);
  });

  it("is valid JSON of bounded size, in which no span ends before it starts, for any records", () => {
    const value = fc.oneof(fc.string({ unit: "binary" }), fc.integer(), fc.constantFrom(null, { a: [1] }));
    const type = fc.constantFrom(...new Set(WHOLE.map(([one]) => one)), "custom");
    const keys = [
      "task",
      "turn",
      "call",
      "tool",
      "stage",
      "check",
      "outcome",
      "durationMs",
      "usage",
      "model",
      "passed",
    ];
    const data = fc.dictionary(fc.constantFrom(...keys), value);
    const told = fc.array(
      fc.tuple(type, data, fc.record({ epoch: fc.integer({ min: 1, max: 3 }) }, { noNullPrototype: true })),
    );
    fc.assert(
      fc.property(told, fc.array(fc.string({ unit: "binary" })), (records, paths) => {
        const facts = { ...FACTS, changed: { paths, files: paths.length } };
        const { spans, json } = traceOf(records as readonly [string, JsonObject, { epoch: number }][], facts);
        expect(json.isWellFormed()).toBe(true);
        expect(json.length).toBeLessThan(5000 * (records.length + 2) + 700 * paths.length);
        const ids = new Set([undefined, ...spans.map(({ spanId }) => spanId)]);
        const isGood = ({ spanId, parentSpanId, startTimeUnixNano, endTimeUnixNano }: OtlpSpan) =>
          /^[0-9a-f]{16}$/.test(spanId) &&
          ids.has(parentSpanId) &&
          BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano);
        expect(spans.filter((span) => !isGood(span))).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});
