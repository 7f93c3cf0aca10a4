/**
 * The meter, fed with answers of each API as they are on the wire.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Meter, type ModelApi } from "../../src/metering/index.ts";
import type { Metered } from "../../src/metering/meter.ts";

const sse = (...events: unknown[]) =>
  events.map((one) => `event: x\ndata: ${typeof one === "string" ? one : JSON.stringify(one)}\n\n`).join("");

function metered(api: ModelApi, contentType: string, pieces: readonly Uint8Array[]): Metered | undefined {
  const meter = new Meter({ api, contentType });
  for (const piece of pieces) meter.push(piece);
  return meter.end();
}

interface Case {
  readonly name: string;
  readonly api: ModelApi;
  readonly contentType: string;
  readonly text: string;
  readonly metered: Metered | undefined;
}

const claude = {
  model: "claude-sonnet-4-5-20250929",
  inputTokens: 12,
  outputTokens: 345,
  cacheReadTokens: 20_000,
  cacheWriteTokens: 300,
};

const CASES: readonly Case[] = [
  {
    name: "Anthropic, streamed",
    api: "anthropic",
    contentType: "text/event-stream; charset=utf-8",
    text: sse(
      {
        type: "message_start",
        message: {
          id: "msg_1",
          type: "message",
          model: "claude-sonnet-4-5-20250929",
          usage: {
            input_tokens: 12,
            cache_creation_input_tokens: 300,
            cache_read_input_tokens: 20_000,
            output_tokens: 1,
          },
        },
      },
      { type: "ping" },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: '"usage": héllo 😀' } },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 345 } },
      { type: "message_stop" },
    ),
    metered: claude,
  },
  {
    name: "Anthropic, whole",
    api: "anthropic",
    contentType: "application/json",
    text: JSON.stringify({
      type: "message",
      model: "claude-sonnet-4-5-20250929",
      content: [{ type: "text", text: "hé" }],
      usage: {
        input_tokens: 12,
        cache_creation_input_tokens: 300,
        cache_read_input_tokens: 20_000,
        output_tokens: 345,
      },
    }),
    metered: claude,
  },
  {
    name: "Anthropic, with cache writes for an hour",
    api: "anthropic",
    contentType: "application/json",
    text: JSON.stringify({
      type: "message",
      model: "claude-sonnet-4-5-20250929",
      usage: {
        input_tokens: 12,
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
        cache_read_input_tokens: 20_000,
        output_tokens: 345,
      },
    }),
    metered: { ...claude, hourlyCacheWriteTokens: 200 },
  },
  {
    name: "OpenAI chat, streamed",
    api: "openai",
    contentType: "text/event-stream",
    text: sse(
      {
        object: "chat.completion.chunk",
        model: "gpt-5.4",
        choices: [{ delta: { content: "hi" } }],
        usage: null,
      },
      {
        object: "chat.completion.chunk",
        model: "gpt-5.4",
        choices: [],
        usage: {
          prompt_tokens: 1000,
          completion_tokens: 50,
          prompt_tokens_details: { cached_tokens: 900 },
        },
      },
      "[DONE]",
    ),
    metered: {
      model: "gpt-5.4",
      inputTokens: 100,
      outputTokens: 50,
      cacheReadTokens: 900,
      cacheWriteTokens: 0,
    },
  },
  {
    name: "OpenAI chat, whole, without a content type",
    api: "openai",
    contentType: "",
    text: `\n ${JSON.stringify({ model: "local", usage: { prompt_tokens: 7, completion_tokens: 3 } })}`,
    metered: { model: "local", inputTokens: 7, outputTokens: 3, cacheReadTokens: 0, cacheWriteTokens: 0 },
  },
  {
    name: "OpenAI Responses, streamed",
    api: "openai",
    contentType: "text/event-stream",
    text: sse(
      { type: "response.created", response: { model: "gpt-5.6-sol", usage: null } },
      { type: "response.output_text.delta", delta: "x" },
      {
        type: "response.completed",
        response: {
          model: "gpt-5.6-sol",
          output: [],
          usage: {
            input_tokens: 1000,
            input_tokens_details: { cached_tokens: 600, cache_write_tokens: 100 },
            output_tokens: 20,
            output_tokens_details: { reasoning_tokens: 15 },
          },
        },
      },
    ),
    metered: {
      model: "gpt-5.6-sol",
      inputTokens: 300,
      outputTokens: 20,
      cacheReadTokens: 600,
      cacheWriteTokens: 100,
    },
  },
  {
    name: "OpenAI Responses, whole",
    api: "openai",
    contentType: "application/json; charset=utf-8",
    text: JSON.stringify({
      object: "response",
      model: "gpt-5",
      usage: { input_tokens: 5, output_tokens: 6 },
    }),
    metered: { model: "gpt-5", inputTokens: 5, outputTokens: 6, cacheReadTokens: 0, cacheWriteTokens: 0 },
  },
  {
    name: "Gemini, streamed",
    api: "gemini",
    contentType: "text/event-stream",
    text: sse(
      {
        candidates: [],
        usageMetadata: { promptTokenCount: 500, totalTokenCount: 500 },
        modelVersion: "gemini-3-pro",
      },
      {
        candidates: [],
        usageMetadata: {
          promptTokenCount: 500,
          cachedContentTokenCount: 400,
          candidatesTokenCount: 30,
          thoughtsTokenCount: 70,
        },
        modelVersion: "gemini-3-pro",
      },
    ).replaceAll("\n", "\r\n"),
    metered: {
      model: "gemini-3-pro",
      inputTokens: 100,
      outputTokens: 100,
      cacheReadTokens: 400,
      cacheWriteTokens: 0,
    },
  },
  {
    name: "Gemini, an array of parts",
    api: "gemini",
    contentType: "application/json",
    text: JSON.stringify([
      { usageMetadata: { promptTokenCount: 5 }, modelVersion: "gemini-2.5-flash" },
      { usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, toolUsePromptTokenCount: 3 } },
    ]),
    metered: {
      model: "gemini-2.5-flash",
      inputTokens: 8,
      outputTokens: 2,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    },
  },
  {
    name: "an event of several lines with different line ends",
    api: "openai",
    contentType: "text/event-stream",
    text: ': hello\r\rid: 1\r\ndata: {"model": "m",\r\ndata:  "usage": {"prompt_tokens": 4,\rdata: "completion_tokens": 2}}\r\n\r\n',
    metered: { model: "m", inputTokens: 4, outputTokens: 2, cacheReadTokens: 0, cacheWriteTokens: 0 },
  },
  {
    name: "an error",
    api: "anthropic",
    contentType: "application/json",
    text: JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
    metered: undefined,
  },
];

describe("the meter", () => {
  for (const { name, api, contentType, text, metered: expected } of CASES) {
    it(`reads ${name}, however its bytes are split`, () => {
      const bytes = Buffer.from(text);
      expect(metered(api, contentType, [bytes])).toEqual(expected);
      expect(
        metered(
          api,
          contentType,
          Array.from(bytes, (byte) => Buffer.from([byte])),
        ),
      ).toEqual(expected);
      fc.assert(
        fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 12 }), (cuts) => {
          const ends = [0, ...cuts.sort((a, b) => a - b), bytes.length];
          const pieces = ends.slice(1).map((end, index) => bytes.subarray(ends[index], end));
          expect(metered(api, contentType, pieces)).toEqual(expected);
        }),
        { numRuns: 50 },
      );
    });
  }

  it("meters a broken-off answer as far as it came", () => {
    const bytes = Buffer.from(CASES[0]?.text ?? "");
    const half = bytes.subarray(0, bytes.indexOf("message_delta"));
    expect(metered("anthropic", "text/event-stream", [half])).toEqual({ ...claude, outputTokens: 0 });
    expect(metered("anthropic", "text/event-stream", [])).toBeUndefined();
  });

  it("estimates the counts that an answer does not report, as when it was cut off", () => {
    const estimate = (api: ModelApi, contentType: string, text: string, asked: string) => {
      const meter = new Meter({ api, contentType });
      meter.push(Buffer.from(text));
      return meter.end(Buffer.from(asked));
    };
    const asked = JSON.stringify({ messages: "word ".repeat(800), picture: "A".repeat(4_000_000) });
    const stream = "text/event-stream";
    // A word in each event, and in one of them many.
    const chunk = (content: string) => ({ model: "m", choices: [{ delta: { content } }] });
    const untold = sse(
      ...Array.from({ length: 50 }, () => chunk("a")),
      chunk("word ".repeat(4000)),
      "[DONE]",
    );
    const all = estimate("openai", stream, untold, asked);
    expect(all).toMatchObject({ model: "m", cacheReadTokens: 0, isEstimated: true });
    // The text is 1,000 tokens by its length; a picture does not count as text.
    expect(all?.inputTokens).toBeGreaterThan(2000);
    expect(all?.inputTokens).toBeLessThan(3000);
    expect(all?.outputTokens).toBeGreaterThan(2500);
    expect(all?.outputTokens).toBeLessThan(6000);
    const text = CASES[0]?.text ?? "";
    const half = text.slice(0, text.indexOf("event: x\ndata: " + '{"type":"message_delta"'));
    expect(estimate("anthropic", stream, half, asked)).toEqual({
      ...claude,
      outputTokens: 3,
      isEstimated: true,
    });
    for (const { api, contentType, text: whole, metered: told } of CASES.filter((one) => one.metered))
      expect(estimate(api, contentType, whole, asked)).toEqual(told);
    expect(estimate("openai", stream, "", "{}")).toMatchObject({ inputTokens: 1, outputTokens: 0 });
  });

  it("counts only the input of an embedding, and estimates it if the answer does not report it", () => {
    const embedded = (usage?: unknown) => {
      const meter = new Meter({ api: "openai", contentType: "application/json" });
      meter.push(Buffer.from(JSON.stringify({ model: "m", data: Array(2000).fill(0.125), usage })));
      return meter.end(Buffer.from(JSON.stringify({ input: "word ".repeat(400) })), "numbers");
    };
    const none = { model: "m", outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
    expect(embedded({ prompt_tokens: 400, total_tokens: 400 })).toEqual({ ...none, inputTokens: 400 });
    const estimated = embedded();
    expect(estimated).toMatchObject({ ...none, isEstimated: true });
    expect(estimated?.inputTokens).toBeGreaterThan(400);
  });

  it("never throws, and accepts only valid counts", () => {
    const api = fc.constantFrom<ModelApi>("anthropic", "openai", "gemini");
    const contentType = fc.constantFrom("text/event-stream", "application/json", "", "text/plain");
    const usage = fc.dictionary(
      fc.constantFrom("input_tokens", "output_tokens", "prompt_tokens", "promptTokenCount", "usageMetadata"),
      fc.jsonValue(),
    );
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.string().map((text) => Buffer.from(`data: ${text}\n\n`)),
      fc
        .record({ usage, usageMetadata: usage, response: fc.jsonValue(), model: fc.jsonValue() })
        .map((one) => Buffer.from(sse(one))),
    );
    fc.assert(
      fc.property(api, contentType, fc.array(piece, { maxLength: 10 }), (of, type, pieces) => {
        const { model, isEstimated: _, ...counts } = metered(of, type, pieces) ?? { model: null };
        expect(model === null || model.length <= 200).toBe(true);
        for (const count of Object.values(counts))
          expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("uses limited memory, and counts again after an event that was too long", () => {
    const piece = Buffer.alloc(1024 * 1024, "x");
    for (const contentType of ["text/event-stream", "application/json"]) {
      const meter = new Meter({ api: "openai", contentType });
      meter.push(Buffer.from("data: "));
      // The meter copies what it holds. The piece is always the same one, so only such copies take memory.
      const before = process.memoryUsage().arrayBuffers;
      for (let pushed = 0; pushed < 200; pushed += 1) meter.push(piece);
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50 * 1024 * 1024);
      meter.push(Buffer.from(`\n\n${sse({ model: "m", usage: { prompt_tokens: 1 } })}`));
      expect(meter.end()?.inputTokens).toBe(contentType === "application/json" ? undefined : 1);
    }
  });
});

it("Anthropic's counts of the input stay when the end of a stream reports none", () => {
  const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
  const started = { input_tokens: 5000, cache_read_input_tokens: 90_000, cache_creation_input_tokens: 3000 };
  const none = {
    input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
    output_tokens: 40,
  };
  const meter = new Meter({ api: "anthropic", contentType: "text/event-stream" });
  meter.push(Buffer.from(event({ type: "message_start", message: { model: "m", usage: started } })));
  meter.push(Buffer.from(event({ type: "message_delta", usage: none })));
  meter.push(Buffer.from(event({ type: "message_stop" })));
  expect(meter.end()).toMatchObject({
    ...{ inputTokens: 5000, cacheReadTokens: 90_000, cacheWriteTokens: 3000, outputTokens: 40 },
  });
});
