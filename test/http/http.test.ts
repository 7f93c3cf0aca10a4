/**
 * What all HTTP endpoints of Holdfast have in common, tested with a real server on a socket.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../src/contract/index.ts";
import {
  assertJson,
  assertLocal,
  bearerOf,
  type FailureForm,
  fail,
  findRoute,
  hasPath,
  parseBody,
  type Route,
  readBody,
  reply,
  urlOf,
} from "../../src/http/index.ts";

const PLAIN: FailureForm = { statusOf: () => 409, tellsWayOut: false, endsConnection: false };

interface Asked {
  readonly headers?: Record<string, string>;
  readonly chunks?: readonly string[];
  readonly form?: FailureForm;
}

/** Sends one request to a server that answers like this. */
async function ask(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
  { headers = {}, chunks = [], form = PLAIN }: Asked = {},
) {
  const dir = mkdtempSync(join(tmpdir(), "hf-http-"));
  const socketPath = join(dir, "socket");
  const server = createServer((incoming, response) => {
    const answered = (async () => answer(incoming, response))();
    answered.catch((error: unknown) => fail(response, error, form));
  }).listen(socketPath);
  await once(server, "listening");
  try {
    const asked = request({ socketPath, method: "POST", path: "/", headers, agent: false });
    for (const chunk of chunks) asked.write(chunk);
    asked.end();
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    const text = (await response.toArray()).join("");
    return { status: response.statusCode, headers: response.headers, body: JSON.parse(text) };
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true });
  }
}

const route = (method: "GET" | "POST", path: string): Route<object> => ({
  method,
  path,
  answer: async () => ({}),
});

describe("routes", () => {
  const routes = [route("GET", "/v1/a"), route("GET", "/v1/a/:id"), route("POST", "/v1/a/:id/b/:other")];

  it("are found by method and path, with the values of the path's parameters", () => {
    expect(findRoute(routes, "GET", "/v1/a")).toEqual({ route: routes[0], params: {} });
    expect(findRoute(routes, "GET", "/v1/a/x%20y")).toEqual({ route: routes[1], params: { id: "x%20y" } });
    expect(findRoute(routes, "POST", "/v1/a/1/b/2")?.params).toEqual({ id: "1", other: "2" });
    expect(findRoute(routes, "POST", "/v1/a")).toBeUndefined();
    expect([hasPath(routes, "/v1/a"), hasPath(routes, "/v1")]).toEqual([true, false]);
  });

  it("match whole paths only, and no empty part of one", () => {
    for (const path of ["", "/", "/v1", "/v1/a/", "/v1/a/x/", "/v1/a/x/b", "/v1/a//b/2", "x/v1/a", "/V1/a"])
      expect(hasPath(routes, path), path).toBe(false);
    const part = fc.string({ minLength: 1 }).filter((text) => !text.includes("/"));
    fc.assert(
      fc.property(part, part, (id, other) => {
        expect(findRoute(routes, "POST", `/v1/a/${id}/b/${other}`)?.params).toEqual({ id, other });
      }),
    );
  });

  it("a URL without a valid path is refused", () => {
    expect(urlOf({ url: "/v1/a?wait=3" } as IncomingMessage).pathname).toBe("/v1/a");
    expect(() => urlOf({ url: "http://[" } as IncomingMessage)).toThrow("is not a path");
  });
});

describe("a request", () => {
  const saying = (headers: Record<string, string>) => ({ headers }) as unknown as IncomingMessage;

  it("takes its token from a Bearer authorization header, and from nowhere else", () => {
    expect(bearerOf(saying({ authorization: "Bearer abc" }))).toBe("abc");
    for (const authorization of ["", "Bearer", "Bearer ", "bearer abc", "Basic abc", "Bearer a b"])
      expect(bearerOf(saying({ authorization })), authorization).toBeUndefined();
    expect(bearerOf(saying({ cookie: "token=abc" }))).toBeUndefined();
  });

  it("is accepted only if its host is this machine and port, and its origin is no other one", () => {
    const passes = (headers: Record<string, string>, port: number | null) => {
      try {
        assertLocal(saying(headers), port);
        return true;
      } catch {
        return false;
      }
    };
    for (const host of ["localhost:7070", "LOCALHOST:7070", "127.0.0.1:7070", "[::1]:7070"])
      expect(passes({ host, origin: `http://${host}` }, 7070), host).toBe(true);
    for (const host of [
      "localhost",
      "localhost:7071",
      "evil.example:7070",
      "127.0.0.1.evil.example:7070",
      "",
    ])
      expect(passes({ host }, 7070), host).toBe(false);
    for (const origin of ["null", "https://localhost", "http://localhost:1", "http://evil.example"])
      expect(passes({ host: "localhost", origin }, null), origin).toBe(false);
    expect([passes({ host: "localhost" }, null), passes({}, null)]).toEqual([true, false]);
  });
});

describe("a body", () => {
  const limit = { maxBytes: 10, code: "too_long" };
  const echo = async (incoming: IncomingMessage, response: ServerResponse) =>
    reply(response, 200, { text: String(await readBody(incoming, limit)) });

  it("is refused if it is a byte longer than its limit, with or without a content-length", async () => {
    expect((await ask(echo, { chunks: ["12345", "67890"] })).body).toEqual({ text: "1234567890" });
    const refused = { error: "too_long", message: "the body is longer than 10 bytes" };
    expect(await ask(echo, { chunks: ["12345", "678901"] })).toMatchObject({ status: 413, body: refused });
    const headers = { "content-length": "11" };
    expect(await ask(echo, { headers, chunks: ["12345678901"] })).toMatchObject({
      status: 413,
      body: refused,
    });
  });

  it("has to be a JSON object with the content type application/json", () => {
    expect(parseBody(Buffer.from('{"a":1}'))).toEqual({ a: 1 });
    for (const text of ["", "[]", "1", "null", "{"])
      expect(() => parseBody(Buffer.from(text)), text).toThrow("not a JSON object");
    const typed = (type: string) => () =>
      assertJson({ headers: { "content-type": type } } as unknown as IncomingMessage);
    for (const type of ["application/json", "application/json; charset=utf-8"])
      expect(typed(type)).not.toThrow();
    for (const type of ["", "text/plain", "application/jsonp", "text/application/json"])
      expect(typed(type), type).toThrow("application/json");
  });
});

describe("a failure", () => {
  const failing = (error: unknown, form?: FailureForm) => ask(() => Promise.reject(error), form && { form });

  it("is answered with its code, message and status; a bug reveals nothing of its error", async () => {
    const known = new HoldfastError("session_not_found", "there is no session x");
    expect(await failing(known)).toMatchObject({
      status: 409,
      body: { error: "session_not_found", message: "there is no session x" },
    });
    expect((await failing(known)).body).not.toHaveProperty("wayOut");
    expect(await failing(new Error("the password is x"))).toMatchObject({
      status: 500,
      body: { error: "bug", message: "a bug in holdfast" },
    });
    expect((await failing(Object.assign(new Error(), { code: "ENOSPC" }))).body.error).toBe("disk_full");
  });

  it("tells the way out and closes the connection if its form asks for that", async () => {
    const form = { ...PLAIN, tellsWayOut: true, endsConnection: true };
    const { headers, body } = await failing(new HoldfastError("session_not_found", "x"), form);
    expect([headers.connection, body.wayOut]).toEqual(["close", expect.stringContaining("holdfast ls")]);
  });

  it("cuts the answer off if it comes after the answer began", async () => {
    const cut = ask((_, response) => {
      response.writeHead(200).write("{");
      throw new Error("too late");
    });
    await expect(cut).rejects.toThrow("aborted");
  });
});
