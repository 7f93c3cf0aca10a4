/**
 * The endpoint's HTTP, byte by byte, with a client that is not the official one.
 */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { GateHome } from "../support/gates.ts";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

interface Heard {
  readonly status: number | undefined;
  readonly type: string;
  readonly text: string;
}

/** A client of the previous version of the protocol, written by hand. */
class Raw {
  readonly #url: string;
  #client = "";
  #id = 0;

  constructor(url: string) {
    this.#url = url;
  }

  static async of(home: GateHome): Promise<Raw> {
    await home.client();
    const raw = new Raw(home.url);
    const clientInfo = { name: "raw", version: "1" };
    await raw.ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    await raw.post({ jsonrpc: "2.0", method: "notifications/initialized" });
    return raw;
  }

  async open(message: object, method = "POST", headers: Record<string, string> = {}) {
    const asked = request(this.#url, {
      method,
      // A connection that a refusal closed must not be used again.
      agent: false,
      headers: { ...HEADERS, ...(this.#client && { "mcp-session-id": this.#client }), ...headers },
    });
    asked.end(method === "POST" ? JSON.stringify(message) : undefined);
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    this.#client = String(answer.headers["mcp-session-id"] ?? this.#client);
    return { asked, answer };
  }

  async post(message: object, method = "POST", headers: Record<string, string> = {}): Promise<Heard> {
    const { answer } = await this.open(message, method, headers);
    let text = "";
    for await (const chunk of answer) text += String(chunk);
    return { status: answer.statusCode, type: String(answer.headers["content-type"]), text };
  }

  message(method: string, params: object) {
    this.#id += 1;
    return { jsonrpc: "2.0", id: this.#id, method, params };
  }

  ask(method: string, params: object): Promise<Heard> {
    return this.post(this.message(method, params));
  }
}

const call = (name: string, args: object, more: object = {}) => ({ name, arguments: args, ...more });

async function ofType(home: GateHome, type: string, count = 1) {
  for (;;) {
    const found = await home.records(type);
    if (found.length >= count) return found;
    await sleep(5);
  }
}

describe("the endpoint over HTTP", () => {
  it("sends a quick answer as one document and a slow one as a stream", async () => {
    using home = new GateHome({ "README.md": "hello\n" });
    await home.begin();
    const raw = await Raw.of(home);
    const ask = () => raw.ask("tools/call", call("read_file", { path: "README.md" }));
    let soon = await ask();
    // On a busy machine a read may be slow, so it is tried again.
    while (soon.type !== "application/json") soon = await ask();
    expect(soon.status).toBe(200);
    expect(JSON.parse(soon.text).result.content).toEqual([{ type: "text", text: "hello\n" }]);
    const slow = await raw.ask("tools/call", call("run_command", { command: "sleep 1.2; echo late" }));
    expect(slow).toMatchObject({ status: 200, type: "text/event-stream" });
    expect(slow.text).toMatch(/^event: message\ndata: .*late.*\n\n$/);
    await home.end();
  });

  it("mcp-http-1 ends a call whose client hangs up, with all that the call started", async () => {
    using home = new GateHome();
    await home.begin();
    const raw = await Raw.of(home);
    const message = raw.message("tools/call", call("run_command", { command: "sleep 100; touch late" }));
    const { asked } = await raw.open(message);
    asked.on("error", () => {});
    await ofType(home, "process_started");
    asked.destroy();
    expect(await ofType(home, "tool_returned")).toMatchObject([{ outcome: "error" }]);
    expect(await home.records("process_ended")).toHaveLength(1);
    await home.end();
  });

  it("mcp-http-1 closes the connection of a call that its client cancels", async () => {
    using home = new GateHome();
    await home.begin();
    const raw = await Raw.of(home);
    const message = raw.message("tools/call", call("run_command", { command: "sleep 100" }));
    const running = raw.post(message);
    await ofType(home, "process_started");
    const params = { requestId: message.id };
    const taken = await raw.post({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    expect(taken.status).toBe(202);
    expect((await running).text).toBe("");
    await ofType(home, "tool_returned");
    await home.end();
  });

  it("refuses a request with a wrong body, type, version, client or method, and serves the next one", async () => {
    using home = new GateHome({ "README.md": "hello\n" });
    await home.begin();
    const raw = await Raw.of(home);
    const list = raw.message("tools/list", {});
    expect((await raw.post({ hello: 1 })).status).toBe(400);
    expect((await raw.post(list, "POST", { "content-type": "text/plain" })).status).toBe(415);
    expect((await raw.post(list, "POST", { "mcp-protocol-version": "1999-01-01" })).status).toBe(400);
    expect((await raw.post(list, "POST", { "mcp-session-id": "nobody" })).status).toBe(404);
    expect((await raw.post(list, "GET")).status).toBe(405);
    const open = raw.message("tools/call", call("run_command", { command: "sleep 100" }));
    const running = raw.open(open).then(({ asked }) => asked.on("error", () => {}));
    await ofType(home, "process_started");
    expect((await raw.post(open)).status).toBe(400);
    (await running).destroy();
    await ofType(home, "tool_returned");
    expect((await raw.post(list)).text).toContain("read_file");
    expect((await raw.post(list, "DELETE")).status).toBe(200);
    expect((await raw.post(list)).status).toBe(404);
    await home.end();
  });
});
