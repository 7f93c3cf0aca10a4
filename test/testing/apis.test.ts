/**
 * Each API of the scripted model, streamed and whole, read back by clients that know the APIs and not the server.
 */
import { describe, expect, it } from "vitest";
import { startScriptedModel } from "../../src/testing/index.ts";
import { ask, type Client, clients, post } from "./clients/index.ts";
import { offers } from "./offered-tools.ts";

const CONTENT = 'a "quoted" line\n🐦 and a bird that is two units long 🐦🐦🐦🐦🐦🐦🐦🐦🐦🐦🐦🐦🐦🐦🐦🐦🐦';
const scripts = {
  both: [
    {
      say: "First I write, then I look at what is there: 🐦🐦🐦🐦🐦🐦🐦🐦🐦🐦🐦🐦🐦🐦.",
      call: [{ write: { path: "/a.txt", content: CONTENT } }, { bash: { command: "ls" } }],
      usage: { inputTokens: 7, outputTokens: 11, cacheReadTokens: 300, cacheWriteTokens: 50 },
    },
    { say: "Done.", pieces: 7 },
  ],
} as const;

/** The usage of the first step, in the words of each API. */
const usages: Record<string, unknown> = {
  anthropic: {
    input_tokens: 7,
    cache_creation_input_tokens: 50,
    cache_read_input_tokens: 300,
    output_tokens: 11,
  },
  "openai-chat": {
    prompt_tokens: 357,
    completion_tokens: 11,
    total_tokens: 368,
    prompt_tokens_details: { cached_tokens: 300 },
    completion_tokens_details: { reasoning_tokens: 0 },
  },
  "openai-responses": {
    input_tokens: 357,
    input_tokens_details: { cached_tokens: 300 },
    output_tokens: 11,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 368,
  },
  gemini: {
    promptTokenCount: 357,
    cachedContentTokenCount: 300,
    candidatesTokenCount: 11,
    totalTokenCount: 368,
  },
};

const stops: Record<string, readonly [called: string, ended: string]> = {
  anthropic: ["tool_use", "end_turn"],
  "openai-chat": ["tool_calls", "stop"],
  "openai-responses": ["completed", "completed"],
  gemini: ["STOP", "STOP"],
};

const apiOf = ({ name }: Client) => name.split(" ")[0] ?? "";

describe("the APIs of the scripted model", () => {
  for (const client of clients)
    for (const isStreamed of [false, true])
      it(`${client.name}, ${isStreamed ? "streamed" : "whole"}: text, calls and usage as the script has them`, async () => {
        await using model = await startScriptedModel({ scripts });
        const asking = { tools: offers.claude.tools, isStreamed };
        const user = { user: "[[both]] please" };
        const first = await ask(model.url, client, { ...asking, entries: [user] });
        expect(first).toEqual({
          text: scripts.both[0].say,
          calls: [
            { id: "scripted_1_0_0", name: "Write", args: { file_path: "/a.txt", content: CONTENT } },
            { id: "scripted_1_0_1", name: "Bash", args: { command: "ls" } },
          ],
          stop: stops[apiOf(client)]?.[0],
          usage: usages[apiOf(client)],
        });
        const second = await ask(model.url, client, {
          ...asking,
          entries: [user, { said: first }, { results: first.calls }],
        });
        expect(second).toMatchObject({ text: "Done.", calls: [], stop: stops[apiOf(client)]?.[1] });
        expect(model.requests.map(({ api, isTurn, step }) => [api, isTurn, step])).toEqual([
          [apiOf(client), true, { script: "both", number: 0 }],
          [apiOf(client), true, { script: "both", number: 1 }],
        ]);
      });

  it("never split a character between events", async () => {
    await using model = await startScriptedModel({ scripts });
    for (const client of clients) {
      const entries = [{ user: "[[both]]" }];
      const response = await post(model.url, client, {
        entries,
        tools: offers.claude.tools,
        isStreamed: true,
      });
      expect(await response.text()).not.toMatch(/\\ud[89a-f]/i);
    }
  });

  it("chat completions stream their usage only to a client that asks for it", async () => {
    await using model = await startScriptedModel();
    const stream = async (more: object) => {
      const messages = [{ role: "user", content: "hello" }];
      const body = JSON.stringify({ model: "m", stream: true, messages, ...more });
      const response = await fetch(`${model.url}/v1/chat/completions`, { method: "POST", body });
      return response.text();
    };
    expect(await stream({})).not.toContain("usage");
    expect(await stream({ stream_options: { include_usage: true } })).toContain('"usage":{"prompt_tokens"');
  });

  it("usageOf sums up a script's steps, with defaults for steps that state no usage", async () => {
    await using model = await startScriptedModel({ scripts });
    expect(model.usageOf("both")).toEqual({
      inputTokens: 107,
      outputTokens: 31,
      cacheReadTokens: 300,
      cacheWriteTokens: 50,
    });
  });
});
