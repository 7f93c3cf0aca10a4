/**
 * The meter reads from the scripted model's answers what the script says: two parts that were written
 * independently agree about each API.
 */
import { describe, expect, it } from "vitest";
import { Meter, type ModelApi } from "../../src/metering/index.ts";
import { startScriptedModel } from "../../src/testing/index.ts";
import { clients, post } from "./clients/index.ts";
import { offers } from "./offered-tools.ts";

describe("the meter and the scripted model", () => {
  it("agree on the usage of a step in each API, streamed and whole", async () => {
    const usage = { inputTokens: 7, outputTokens: 11, cacheReadTokens: 300, cacheWriteTokens: 50 };
    const scripts = { one: [{ say: "hello", call: { bash: { command: "ls" } }, pieces: 5, usage }] };
    await using model = await startScriptedModel({ scripts });
    for (const client of clients)
      for (const isStreamed of [true, false]) {
        const entries = [{ user: "[[one]]" }];
        const response = await post(model.url, client, { entries, tools: offers.claude.tools, isStreamed });
        const api = /^[a-z]+/.exec(client.name)?.[0] as ModelApi;
        const meter = new Meter({ api, contentType: response.headers.get("content-type") ?? "" });
        for await (const piece of response.body ?? []) meter.push(piece);
        // Only Anthropic reports cache writes.
        const expected = api === "anthropic" ? usage : { ...usage, inputTokens: 57, cacheWriteTokens: 0 };
        expect(meter.end(), client.name).toEqual({ model: "m", ...expected });
      }
  });
});
