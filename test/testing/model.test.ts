/**
 * What the scripted model answers without a script, how it reports requests, and the check of conversations.
 */
import { networkInterfaces } from "node:os";
import { describe, expect, it } from "vitest";
import { orphansIn, startScriptedModel } from "../../src/testing/index.ts";
import {
  anthropic,
  ask,
  type Client,
  chat,
  clients,
  type Entry,
  gemini,
  responses,
} from "./clients/index.ts";
import { offers } from "./offered-tools.ts";

const { tools } = offers.claude;

describe("the scripted model", () => {
  it("numbers its answers by those already in the conversation if no marker names a script", async () => {
    await using model = await startScriptedModel();
    for (const client of clients) {
      const entries: Entry[] = [{ user: "hello" }];
      for (const answer of ["ANSWER-1", "ANSWER-2", "ANSWER-3"]) {
        const said = await ask(model.url, client, { entries, tools, isStreamed: true });
        expect(said.text).toBe(answer);
        entries.push({ said }, { user: "and now?" });
      }
    }
  });

  it("answers a request without tools at no cost, with a title or in the form that it asks for", async () => {
    await using model = await startScriptedModel({ scripts: { one: [{ say: "not this" }] } });
    for (const client of clients) {
      const said = await ask(model.url, client, { entries: [{ user: "[[one]]" }] });
      expect(said.text).toBe("A title");
      expect(JSON.stringify(said.usage)).not.toMatch(/[1-9]/);
    }
    expect(model.requests.map(({ isTurn, step }) => [isTurn, step])).toEqual(
      clients.map(() => [false, undefined]),
    );

    const schema = {
      type: "object",
      properties: {
        why: { type: "string" },
        next: { type: "string", enum: ["user", "model"] },
        score: { type: "number" },
        isNew: { type: "boolean" },
        list: { type: "array" },
        note: { type: "string" },
      },
      required: ["why", "next", "score", "isNew", "list"],
    };
    const sample = { why: "scripted", next: "user", score: 1, isNew: false, list: [] };
    const forms: [Client, object][] = [
      [anthropic, { output_config: { format: { type: "json_schema", schema } } }],
      [chat, { response_format: { type: "json_schema", json_schema: { name: "x", schema } } }],
      [responses, { text: { format: { type: "json_schema", name: "x", schema } } }],
      [gemini, { generationConfig: { responseJsonSchema: schema } }],
    ];
    for (const [client, form] of forms) {
      const body = JSON.stringify({ ...client.body({ entries: [{ user: "which?" }] }), ...form });
      const response = await fetch(`${model.url}${client.path(false)}`, { method: "POST", body });
      expect(JSON.parse(client.whole((await response.json()) as never).text)).toEqual(sample);
    }
  });

  it("lists its models and counts tokens, below any path", async () => {
    await using model = await startScriptedModel();
    const get = async (path: string, method = "GET") => {
      const response = await fetch(`${model.url}${path}`, { method });
      return [response.status, await response.json()];
    };
    expect(await get("/anything/v1/messages/count_tokens", "POST")).toEqual([200, { input_tokens: 100 }]);
    expect(await get("/v1beta/models/m:countTokens", "POST")).toEqual([200, { totalTokens: 100 }]);
    expect(await get("/v1/models")).toMatchObject([200, { data: [{ id: "scripted" }] }]);
    expect(await get("/v1/models/other")).toMatchObject([200, { id: "other" }]);
    expect((await get("/elsewhere"))[0]).toBe(404);
    expect(model.requests.every(({ api, isTurn }) => api === undefined && !isTurn)).toBe(true);
  });

  it("reports each request with its headers and raw body, and refuses a body that it can't read", async () => {
    await using model = await startScriptedModel();
    const body = "{ not JSON";
    const headers = { "x-api-key": "dummy" };
    const response = await fetch(`${model.url}/proxied/v1/messages?beta=true`, {
      method: "POST",
      headers,
      body,
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { type: "invalid_request_error" } },
    ]);
    expect(model.requests).toMatchObject([
      { api: "anthropic", method: "POST", path: "/proxied/v1/messages", headers, body, isTurn: false },
    ]);
  });

  it("listens on loopback alone, at the port that was asked for", async () => {
    const { port } = new URL((await using(startScriptedModel())).url);
    await using model = await startScriptedModel({ port: Number(port) });
    expect(model.url).toBe(`http://127.0.0.1:${port}`);
    const others = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ family, internal }) => family === "IPv4" && !internal);
    for (const { address } of others)
      await expect(fetch(`http://${address}:${port}/v1/models`)).rejects.toThrow();
  });
});

/** Ends the model at once and returns the address that it had. */
async function using(started: ReturnType<typeof startScriptedModel>): Promise<{ readonly url: string }> {
  await using model = await started;
  return { url: model.url };
}

describe("orphansIn", () => {
  const call = (id: string, name = "Bash") => ({ id, name, args: {} });
  const said = (...calls: ReturnType<typeof call>[]): Entry => ({ said: { text: "", calls } });
  const results = (...calls: ReturnType<typeof call>[]): Entry => ({ results: calls });
  const found = (client: Client, ...entries: Entry[]) =>
    orphansIn({
      path: new URL(client.path(false), "http://x").pathname,
      body: JSON.stringify(client.body({ entries, tools })),
    }).map(({ kind, id, name }) => [kind, id ?? name]);

  it("finds nothing if each call has its result", () => {
    for (const client of clients)
      expect(
        found(
          client,
          { user: "go" },
          said(call("a"), call("b", "Read")),
          results(call("b", "Read"), call("a")),
          said(call("c")),
          results(call("c")),
          { user: "and?" },
        ),
      ).toEqual([]);
  });

  it("finds calls without a result and results without a call", () => {
    for (const client of clients) {
      const name = (id: string, tool: string) => (client.name === "gemini without ids" ? tool : id);
      expect(
        found(client, { user: "go" }, said(call("a"), call("b", "Read")), results(call("a")), { user: "?" }),
      ).toEqual([["call", name("b", "Read")]]);
      expect(found(client, { user: "go" }, said(call("a")))).toEqual([["call", name("a", "Bash")]]);
      expect(found(client, { user: "go" }, results(call("a")))).toEqual([["result", name("a", "Bash")]]);
      expect(
        found(client, { user: "go" }, said(call("a")), results(call("a"), call("a")), { user: "?" }),
      ).toEqual([["result", name("a", "Bash")]]);
    }
  });

  it("takes a result after a text of the user as too late, except in OpenAI's Responses", () => {
    for (const client of clients) {
      const late = found(client, { user: "go" }, said(call("a")), { user: "wait" }, results(call("a")));
      expect(late.map(([kind]) => kind)).toEqual(
        client.name === "openai-responses" ? [] : ["call", "result"],
      );
    }
  });

  it("finds nothing in a request without a conversation", () => {
    expect(orphansIn({ path: "/v1/models", body: "" })).toEqual([]);
  });
});
