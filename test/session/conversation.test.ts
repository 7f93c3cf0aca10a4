/**
 * The conversation as a model is given it: roles, calls paired with results, messages that came in between.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JournalRecord, JsonObject } from "../../src/contract/index.ts";
import { aiSdkForm, anthropicForm, conversationOf, openAiForm } from "../../src/session/index.ts";

type Row = readonly [type: string, data: JsonObject];
const ALL = { history: [[1, 1_000_000]] as const };

async function* recordsOf(rows: readonly Row[]): AsyncGenerator<JournalRecord> {
  for (const [index, [type, data]] of rows.entries())
    yield { seq: index + 1, at: "", epoch: 1, durable: index, type, data, hash: "" };
}

const LOGIN: readonly Row[] = [
  ["message_received", { message: "msg_1", from: "user:ani", text: "the tests are in test/" }],
  ["turn_started", { turn: 1, input: "fix the login" }],
  ["message_added", { turn: 1, role: "assistant", content: "I look." }],
  ["tool_called", { turn: 1, call: "1.1", tool: "read_file", args: { path: "a" } }],
  ["tool_called", { turn: 1, call: "1.2", tool: "read_file", args: { path: "b" } }],
  ["tool_returned", { turn: 1, call: "1.2", outcome: "error", output: "no such file" }],
  ["message_entered_context", { turn: 1, message: "msg_1", certain: true }],
  ["tool_returned", { turn: 1, call: "1.1", outcome: "ok", output: { lines: 3 } }],
  ["message_added", { turn: 1, role: "assistant", content: "It is fixed." }],
  ["turn_ended", { turn: 1, outcome: "completed", durationMs: 1 }],
  ["turn_started", { turn: 2, input: "and now the logout" }],
  ["tool_called", { turn: 2, call: "1.1", tool: "run_command", args: { command: "true" } }],
  ["tool_returned", { turn: 2, call: "1.1", outcome: "ok", output: "" }],
  ["tool_called", { turn: 2, call: "2.2", tool: "run_command", args: { command: "sleep 9" } }],
];

describe("a conversation", () => {
  it("includes the open turn, puts results in the order of their calls, and an inbox message after the results", async () => {
    expect(await conversationOf(recordsOf(LOGIN), ALL)).toEqual([
      { role: "user", content: "fix the login" },
      {
        role: "assistant",
        content: ["I look."],
        calls: [
          { call: "1.1", tool: "read_file", args: { path: "a" } },
          { call: "1.2", tool: "read_file", args: { path: "b" } },
        ],
      },
      {
        role: "tool",
        results: [
          { call: "1.1", tool: "read_file", outcome: "ok", output: { lines: 3 } },
          { call: "1.2", tool: "read_file", outcome: "error", output: "no such file" },
        ],
      },
      { role: "user", content: "the tests are in test/", from: "user:ani" },
      { role: "assistant", content: ["It is fixed."], calls: [] },
      { role: "user", content: "and now the logout" },
      {
        role: "assistant",
        content: [],
        calls: [{ call: "1.1", tool: "run_command", args: { command: "true" } }],
      },
      { role: "tool", results: [{ call: "1.1", tool: "run_command", outcome: "ok", output: "" }] },
    ]);
  });

  it("leaves out the turns that a rewind left behind", async () => {
    const first = await conversationOf(recordsOf(LOGIN), { history: [[2, 2]] });
    expect(first.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  });

  it("conversation-1 puts every result right after the assistant message with its call, for any records", async () => {
    const id = fc.constantFrom("a", "b", "c");
    const turn = fc.integer({ min: 1, max: 3 });
    const row: fc.Arbitrary<Row> = fc.oneof(
      turn.map((number): Row => ["turn_started", { turn: number, input: "go" }]),
      turn.map((number): Row => ["turn_ended", { turn: number }]),
      fc.tuple(turn, id).map(([number, call]): Row => ["tool_called", { turn: number, call, tool: "t" }]),
      fc.tuple(turn, id).map(([number, call]): Row => ["tool_returned", { turn: number, call, output: "o" }]),
      fc.constantFrom("assistant", "user").map((role): Row => ["message_added", { role, content: "x" }]),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 50 }), async (rows) => {
        const messages = await conversationOf(recordsOf(rows), ALL);
        for (const [at, message] of messages.entries()) {
          const after = messages[at + 1];
          const calls = message.role === "assistant" ? message.calls.map(({ call }) => call) : [];
          const results = after?.role === "tool" ? after.results.map(({ call }) => call) : [];
          if (message.role !== "tool") expect(results).toEqual(calls);
        }
      }),
    );
  });

  it("converts to Anthropic's form, in which roles alternate and every call id is plain and unique", async () => {
    const { system, messages } = anthropicForm(await conversationOf(recordsOf(LOGIN), ALL));
    expect(system).toBeUndefined();
    expect(messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
    ]);
    expect(messages[2]?.content).toEqual([
      { type: "tool_result", tool_use_id: "call_1_1", content: '{"lines":3}' },
      { type: "tool_result", tool_use_id: "call_1_2", content: "no such file", is_error: true },
      { type: "text", text: "the tests are in test/" },
    ]);
    expect(messages[5]?.content).toEqual([
      { type: "tool_use", id: "call_1_1_2", name: "run_command", input: { command: "true" } },
    ]);
    expect(messages[6]?.content).toEqual([{ type: "tool_result", tool_use_id: "call_1_1_2", content: "" }]);
  });

  it("converts to the forms of OpenAI and the AI SDK", async () => {
    const conversation = await conversationOf(recordsOf(LOGIN), ALL);
    expect(openAiForm(conversation).slice(1, 4)).toEqual([
      {
        role: "assistant",
        content: "I look.",
        tool_calls: [
          { id: "call_1_1", type: "function", function: { name: "read_file", arguments: '{"path":"a"}' } },
          { id: "call_1_2", type: "function", function: { name: "read_file", arguments: '{"path":"b"}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_1_1", content: '{"lines":3}' },
      { role: "tool", tool_call_id: "call_1_2", content: "no such file" },
    ]);
    expect(aiSdkForm(conversation)[2]).toEqual({
      role: "tool",
      content: [
        {
          ...{ type: "tool-result", toolCallId: "call_1_1", toolName: "read_file" },
          output: { type: "text", value: '{"lines":3}' },
        },
        {
          ...{ type: "tool-result", toolCallId: "call_1_2", toolName: "read_file" },
          output: { type: "error-text", value: "no such file" },
        },
      ],
    });
  });
});
