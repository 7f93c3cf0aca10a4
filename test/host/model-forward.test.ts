/**
 * One request of an agent to a model, through the real broker to a provider on loopback: what is asked before it goes,
 * and what is on record when the agent has its answer.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import type { Budget, Parked } from "../../src/contract/index.ts";
import { ModelForward } from "../../src/host/model-forward.ts";
import { ModelHold } from "../../src/host/model-hold.ts";
import { modelOf } from "../../src/host/model-request.ts";
import { Prices } from "../../src/metering/index.ts";
import type { Session } from "../../src/session/index.ts";
import { systemClock as clock } from "../../src/util/index.ts";
import { BrokerHome, TestProvider, whenHeard } from "../support/broker.ts";

interface Route extends AsyncDisposable {
  readonly session: Session;
  readonly provider: TestProvider;
  readonly parked: Parked[];
  readonly faults: string[];
  /** Resolves when a request is held. */
  readonly held: Promise<void>;
  /** Prices that a person adds to the settings. */
  price(model: string): void;
  post(path: string, model: string, signal?: AbortSignal): Promise<Response>;
}

/** A budget that is reached parks at once. */
async function routeTo(
  answer: (response: ServerResponse) => void,
  budget: Budget = {},
  holdMs = 0,
): Promise<Route> {
  const provider = await TestProvider.start(whenHeard((_, response) => answer(response)));
  const home = await BrokerHome.make(`providers:\n  gate: { api: anthropic, base_url: "${provider.url}" }\n`);
  const session = await (await home.open()).openSession({ budget });
  await session.append("task_queued", { request: "task_1", spec: SPEC });
  await session.append("task_started", { task: 1, request: "task_1" });
  const parked: Parked[] = [];
  const faults: string[] = [];
  const own: Record<string, { input: number; output: number }> = {};
  const held = Promise.withResolvers<void>();
  const forward = new ModelForward({
    ...{ session, task: 1, broker: await home.connect(session.id), prices: new Prices(), clock },
    readPrices: async () => new Prices(own),
    hold: new ModelHold(session, { clock, holdMs, onHeld: () => held.resolve() }),
    park: (why) => parked.push(why),
    onFault: (what) => faults.push(what),
  });
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request));
    const { method = "", url: path = "", headers } = request;
    const api = "anthropic";
    const model = modelOf({ api, path }, body);
    const asked = { provider: "gate", path, method, headers, body, model, api } as const;
    await forward.answer(asked, response).catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    ...{ session, provider, parked, faults, held: held.promise },
    price: (model) => {
      own[model] = { input: 1, output: 1 };
    },
    post: (path, model, signal = new AbortController().signal) =>
      fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body: JSON.stringify({ model }), signal }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await session.close();
      await provider[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

const SPEC = {
  agent: { adapter: "exec" as const, command: ["true"], input: "nothing" as const, restart: false },
  definition: "exec:true",
  sandbox: false,
};
const usage = { input_tokens: 1_000_000, output_tokens: 1 };
const message = (model: string) => JSON.stringify({ type: "message", model, usage });
const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;

describe("a request to a model", () => {
  it("costs what the model that was asked for costs, if the answer names one that has no price", async () => {
    const answer = (response: ServerResponse) => void response.end(message("of-the-gate"));
    await using route = await routeTo(answer, { usd: 5 });
    await (await route.post("/v1/messages", "claude-opus-4-5")).text();
    expect(route.session.spentSoFar.usd).toBeCloseTo(5, 3);
    expect(route.session.state.budget).toEqual({ usd: 5 });
    // So the budget is kept.
    const held = route.post("/v1/messages", "claude-opus-4-5").catch(() => "hung up");
    await expect.poll(() => route.parked, { timeout: 60_000 }).toMatchObject([{ reason: "budget" }]);
    expect(route.provider.heard).toHaveLength(1);
    void held;
  });

  it("is held by a reached budget, unless the provider charges nothing for it", async () => {
    await using route = await routeTo((response) => void response.end('{"input_tokens":7}'), { usd: 1 });
    const count = await route.post("/v1/messages/count_tokens?beta=true", "without-a-price");
    expect(await count.json()).toEqual({ input_tokens: 7 });
    expect(route.session.state.spent.inputTokens).toBe(0);
    for (const query of ["?x=count_tokens", "?/count_tokens", "?x=/models/claude-haiku-4-5:x"])
      route.post(`/v1/messages${query}`, "without-a-price").catch(() => {});
    await expect.poll(() => route.parked.length, { timeout: 60_000 }).toBe(3);
    expect(route.parked[0]).toMatchObject({ detail: expect.stringContaining("no price is known") });
    expect(route.provider.heard).toHaveLength(1);
  });

  it("is held while its model has no price, and goes when a person adds one", async () => {
    const answer = (response: ServerResponse) => void response.end(message("new"));
    await using route = await routeTo(answer, { usd: 5 }, 600_000);
    const answered = route.post("/v1/messages", "new");
    await route.held;
    expect(route.provider.heard).toEqual([]);
    route.price("new");
    expect((await answered).status).toBe(200);
    await expect.poll(() => route.session.spentSoFar.usd, { timeout: 60_000 }).toBeCloseTo(1, 3);
    expect(route.parked).toEqual([]);
  });

  it("is cut off, and the provider named, if a provider that refuses it breaks off", async () => {
    await using route = await routeTo((response) => {
      response.writeHead(429, { "content-length": 100 });
      response.write("half", () => response.destroy());
    });
    await expect(route.post("/v1/messages", "claude-opus-4-5")).rejects.toThrow();
    expect(route.faults).toEqual(["gate broke off in the middle of an answer"]);
  });

  it("costs its input by an estimate if the agent hangs up before the answer begins, unless it is free", async () => {
    await using route = await routeTo(() => {});
    for (const path of ["/v1/messages/count_tokens", "/v1/messages"]) {
      const gone = new AbortController();
      const asked = route.post(path, "claude-opus-4-5", gone.signal).catch(() => "hung up");
      const before = route.provider.heard.length;
      await expect.poll(() => route.provider.heard.length, { timeout: 60_000 }).toBe(before + 1);
      gone.abort();
      await asked;
      if (path.endsWith("messages"))
        await expect
          .poll(() => route.session.state.spent.inputTokens, { timeout: 60_000 })
          .toBeGreaterThan(0);
      expect(route.session.state.spent.inputTokens > 0).toBe(path.endsWith("messages"));
    }
    expect(route.session.state.spent.outputTokens).toBe(0);
  });

  it("is on record before the agent gets the last event of its answer", async () => {
    // The stream stays open, so its end comes later than what the agent needs.
    await using route = await routeTo((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(event({ type: "message_start", message: { model: "claude-opus-4-5", usage } }));
      response.write(event({ type: "message_delta", usage: { output_tokens: 30 } }));
      setImmediate(() => response.write(event({ type: "message_stop" })));
    });
    const { body } = await route.post("/v1/messages", "claude-opus-4-5");
    let text = "";
    for await (const chunk of body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.includes("message_stop")) break;
    }
    expect(route.session.state.spent).toMatchObject({ inputTokens: 1_000_000, outputTokens: 30 });
  });
});
