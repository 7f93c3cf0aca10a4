/**
 * What goes through the broker: unchanged bytes, with the real credential in place of the agent's dummy.
 */
import { once } from "node:events";
import { get, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { readToken, revokeToken, rotateToken, sessionDirOf } from "../../src/home/index.ts";
import { realDisk } from "../../src/util/index.ts";
import { BrokerHome, bytesOf, modelRequest, TestProvider, whenHeard } from "../support/broker.ts";

const settingsFor = (url: string) => `providers:
  anthropic: { base_url: "${url}" }
  openai: { base_url: "${url}/v1" }
  gemini: { base_url: "${url}" }
  local: { api: openai, base_url: "${url}/deep/v1" }
  keyed: { api: openai, base_url: "${url}", key_env: KEYED_KEY }
keys:
  anthropic: { command: [printf, "${"%s"}", planted-anthropic] }
  openai: { command: [printf, "${"%s\\\\nnot this"}", planted-openai] }
  gemini: { command: [printf, "${"%s"}", planted-gemini] }
`;

/** One broker serves all tests, because it reads the settings for each request. */
const home = await BrokerHome.make();
afterAll(() => home[Symbol.asyncDispose]());

async function connected(provider: TestProvider) {
  home.settings(settingsFor(provider.url));
  const session = await home.session();
  return { session, connection: await home.connect(session) };
}

describe("the broker", () => {
  it("forward-1 passes bodies unchanged in both directions, in whatever pieces they come", async () => {
    await using provider = await TestProvider.start((request, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream" });
      request.pipe(response);
    });
    const { connection } = await connected(provider);
    const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 3000 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(pieces, fc.boolean(), async (parts, isWhole) => {
        const all = Buffer.concat(parts);
        const body = isWhole ? all : Readable.from(parts.map((one) => Buffer.from(one)));
        const answer = await connection.forward(modelRequest({ body }));
        expect(answer.status).toBe(200);
        expect((await bytesOf(answer.body)).equals(all)).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  it("gives each provider its own kind of credential and none of the agent's dummies", async () => {
    await using provider = await TestProvider.start();
    const { connection } = await connected(provider);
    const dummies = {
      authorization: "Bearer dummy",
      "x-api-key": "dummy",
      "x-goog-api-key": "dummy",
      "api-key": "dummy",
      cookie: "dummy=1",
      connection: "x-hop, keep-alive",
      "x-hop": "1",
      "x-http-method-override": "DELETE",
      "anthropic-beta": "one,two",
      "user-agent": "an-agent/1",
    };
    const ask = async (name: string, path: string) => {
      const answer = await connection.forward(modelRequest({ provider: name, path, headers: dummies }));
      expect(answer.status).toBe(200);
      await bytesOf(answer.body);
      const { headers, url } = provider.last;
      expect(JSON.stringify(provider.last.raw)).not.toMatch(/dummy|x-hop|override|hfs_/);
      expect(headers).toMatchObject({ "anthropic-beta": "one,two", "user-agent": "an-agent/1" });
      expect(headers.host).toBe(new URL(provider.url).host);
      const { authorization, "x-api-key": key, "x-goog-api-key": google } = headers;
      return { url, authorization, key, google };
    };
    expect(await ask("anthropic", "/v1/messages?beta=true")).toMatchObject({
      url: "/v1/messages?beta=true",
      key: "planted-anthropic",
      authorization: undefined,
    });
    expect(await ask("openai", "/v1/chat/completions")).toEqual({
      url: "/v1/chat/completions",
      authorization: "Bearer planted-openai",
    });
    expect(await ask("gemini", "/v1beta/models/x:generateContent?key=dummy&alt=sse")).toEqual({
      url: "/v1beta/models/x:generateContent?alt=sse",
      google: "planted-gemini",
    });
    expect(await ask("local", "/v1/responses")).toEqual({ url: "/deep/v1/responses" });
    expect(await connection.credential("anthropic")).toEqual({ kind: "key" });
    expect(await connection.credential("local")).toEqual({ kind: "key" });
    expect(await connection.credential("keyed")).toBeUndefined();
  });

  it("passes a provider's statuses, headers and errors unchanged, and follows no redirect", async () => {
    await using elsewhere = await TestProvider.start();
    await using provider = await TestProvider.start(
      whenHeard((_, response, { body }) => {
        const status = Number(body.toString());
        response.writeHead(status, {
          location: `${elsewhere.url}/v1/messages`,
          "retry-after": "7",
          "holdfast-failure": "key_missing",
          "set-cookie": ["a=1", "b=2"],
        });
        response.end(`status ${status}`);
      }),
    );
    const { connection } = await connected(provider);
    for (const status of [200, 302, 307, 401, 429, 500, 529]) {
      const answer = await connection.forward(modelRequest({ body: Buffer.from(String(status)) }));
      expect(answer.status).toBe(status);
      expect(answer.headers).toMatchObject({ "retry-after": "7", "set-cookie": ["a=1", "b=2"] });
      expect((await bytesOf(answer.body)).toString()).toBe(`status ${status}`);
    }
    expect(elsewhere.heard).toEqual([]);
  });

  it("forward-2 masks a credential that a provider's error repeats, in a header too or split between pieces", async () => {
    await using provider = await TestProvider.start(
      whenHeard(async (_, response, { headers, body }) => {
        const [status = "", cut = ""] = body.toString().split(" ");
        const key = String(headers["x-api-key"]);
        const text = `${key} is no good: ${key}${key}, planted-anthropi`;
        response.writeHead(Number(status), `no ${key}`, {
          "content-length": text.length,
          "x-request": `of ${key}`,
        });
        response.write(text.slice(0, Number(cut)));
        // So that the two pieces arrive separately.
        await new Promise((resolve) => setTimeout(resolve, 2));
        response.end(text.slice(Number(cut)));
      }),
    );
    const { connection } = await connected(provider);
    const stars = "*".repeat("planted-anthropic".length);
    for (const status of [400, 401, 500])
      for (const cut of [1, 5, 17, 30, 40, 60]) {
        const answer = await connection.forward(modelRequest({ body: Buffer.from(`${status} ${cut}`) }));
        const said = (await bytesOf(answer.body)).toString();
        expect(said).toBe(`${stars} is no good: ${stars}${stars}, planted-anthropi`);
        expect(answer.headers["x-request"]).toBe(`of ${stars}`);
      }
  });

  it("forward-1 passes a broken stream on as broken, and reports a missing answer with the host's name", async () => {
    await using provider = await TestProvider.start(
      whenHeard((_, response, { body }) => {
        if (body.toString() === "nothing") return void response.socket?.destroy();
        response.write("data: half");
        response.socket?.end();
        setTimeout(() => response.destroy(), 20);
      }),
    );
    const { connection } = await connected(provider);
    const answer = await connection.forward(modelRequest());
    await expect(bytesOf(answer.body)).rejects.toThrow();
    await expect(connection.forward(modelRequest({ body: Buffer.from("nothing") }))).rejects.toMatchObject({
      code: "provider_unreachable",
      facts: { host: new URL(provider.url).host },
    });
  });

  it("forward-1 ends the request at the provider when the client hangs up before or during the answer", async () => {
    let begun = () => {};
    const closed: Promise<unknown>[] = [];
    await using provider = await TestProvider.start((request, response) => {
      request.resume();
      closed.push(once(response, "close"));
      if (request.url === "/v1/messages") response.write("first");
      begun();
    });
    const { connection } = await connected(provider);
    const answer = await connection.forward(modelRequest());
    await once(answer.body, "data");
    answer.body.destroy();
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const stop = new AbortController();
    const request = modelRequest({ path: "/v1/messages/count_tokens", signal: stop.signal });
    const failure = expect(connection.forward(request)).rejects.toMatchObject({ code: "interrupted" });
    await hasBegun;
    stop.abort();
    await failure;
    expect(closed).toHaveLength(2);
    await Promise.all(closed);
  });

  it("keeps the bytes of 32 simultaneous streams apart", async () => {
    const responses: (() => void)[] = [];
    await using provider = await TestProvider.start(
      whenHeard((_, response, { body }) => {
        response.write(`begin ${body}`);
        responses.push(() => response.end(` end ${body}`));
        // None ends before all have begun.
        if (responses.length === 32) for (const end of responses) end();
      }),
    );
    const { connection } = await connected(provider);
    const texts = await Promise.all(
      Array.from({ length: 32 }, async (_, index) => {
        const answer = await connection.forward(modelRequest({ body: Buffer.from(`stream ${index}`) }));
        return (await bytesOf(answer.body)).toString();
      }),
    );
    expect(texts).toEqual(
      Array.from({ length: 32 }, (_, index) => `begin stream ${index} end stream ${index}`),
    );
  });

  it("provider-1 sends nothing for a request that is not for a model or names no provider", async () => {
    await using provider = await TestProvider.start();
    const { connection } = await connected(provider);
    for (const path of [
      "/v1/files",
      "/v1/messages/../files",
      "//evil.example.org/",
      "v1/messages",
      "/v1/ messages",
    ])
      await expect(connection.forward(modelRequest({ path }))).rejects.toMatchObject({
        code: "request_refused",
      });
    for (const name of ["nobody", "../anthropic", "a/b"])
      await expect(connection.forward(modelRequest({ provider: name }))).rejects.toMatchObject({
        code: "unknown_provider",
      });
    expect(provider.heard).toEqual([]);
  });

  it("reports a failure or an early answer even while much of the body is still to come", async () => {
    await using provider = await TestProvider.start(
      (_, response) => void response.writeHead(413).end("early"),
    );
    const { connection } = await connected(provider);
    const large = () => Readable.from(Array.from({ length: 200 }, () => Buffer.alloc(64 * 1024)));
    for (let round = 0; round < 5; round += 1) {
      for (const body of [large(), Buffer.alloc(8 * 1024 * 1024)])
        await expect(connection.forward(modelRequest({ path: "/v1/files", body }))).rejects.toMatchObject({
          code: "request_refused",
        });
      const answer = await connection.forward(modelRequest({ body: large() }));
      expect([answer.status, (await bytesOf(answer.body)).toString()]).toEqual([413, "early"]);
    }
  });

  it("key-2 does nothing without the session's own token", async () => {
    await using provider = await TestProvider.start();
    const { session } = await connected(provider);
    const other = await readToken(realDisk, sessionDirOf(home.home, await home.session()));
    const own = await readToken(realDisk, sessionDirOf(home.home, session));
    const asked = async (path: string, token: string | undefined) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const [answer] = await once(get({ socketPath: home.socket, path, headers, agent: false }), "response");
      answer.resume();
      return answer.headers["holdfast-failure"] ?? answer.statusCode;
    };
    const gone = "sess_01k00000000000000000000000";
    for (const path of [`/forward/${session}/anthropic/v1/models`, `/credential/${session}/anthropic`]) {
      for (const token of [undefined, "", "revoked", other, `${own}x`, own?.slice(0, -1)])
        expect(await asked(path, token)).toBe("token_revoked");
      expect(await asked(path.replace(session, gone), own)).toBe("token_revoked");
      expect(await asked(path.replace(session, "../x"), own)).toBe("request_refused");
    }
    expect(provider.heard).toEqual([]);
    expect(await asked(`/forward/${session}/anthropic/v1/models`, own)).toBe(200);
  });

  it("key-2 refuses a session whose token was revoked, and no other, until it has a new token", async () => {
    await using provider = await TestProvider.start();
    const { session, connection } = await connected(provider);
    const other = await home.connect(await home.session());
    const status = async (one: typeof connection) => {
      const answer = await one.forward(modelRequest());
      await bytesOf(answer.body);
      return answer.status;
    };
    expect([await status(connection), await status(other)]).toEqual([200, 200]);
    await revokeToken(realDisk, sessionDirOf(home.home, session));
    await expect(connection.forward(modelRequest())).rejects.toMatchObject({ code: "token_revoked" });
    await expect(connection.credential("anthropic")).rejects.toMatchObject({ code: "token_revoked" });
    expect(await status(other)).toBe(200);
    await rotateToken(realDisk, sessionDirOf(home.home, session));
    expect(await status(connection)).toBe(200);
    expect(provider.heard).toHaveLength(4);
  });

  it("key-2 cuts off the running answers of a session whose token is revoked or changed, and no others", async () => {
    const running: ServerResponse[] = [];
    await using provider = await TestProvider.start(
      whenHeard((_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" }).write("first ");
        running.push(response);
      }),
    );
    const { connection: other } = await connected(provider);
    const lasting = await other.forward(modelRequest());
    for (const take of [revokeToken, rotateToken]) {
      const { session, connection } = await connected(provider);
      const { body } = await connection.forward(modelRequest());
      await once(body, "readable");
      const [upstream] = running.slice(-1);
      const hungUp = upstream && once(upstream, "close");
      await take(realDisk, sessionDirOf(home.home, session));
      await expect(bytesOf(body)).rejects.toMatchObject({ code: "ECONNRESET" });
      await hungUp;
    }
    running[0]?.end("last");
    expect(String(await bytesOf(lasting.body))).toBe("first last");
  });
});
