/**
 * Owns the MCP endpoint of a session: streamable HTTP, for clients of the present protocol and of the
 * previous one. A request body is parsed exactly, so that what is judged is what was sent. For example, it
 * must not have a key twice, which parsers handle differently.
 *
 * gate-6 What a client sends is parsed once, exactly, before anything else uses it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  type JSONRPCMessage,
  type McpHttpHandler,
  parseJSONRPCMessage,
  type Server,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/server";
import { parseExact } from "../approval/index.ts";
import { isHoldfastError, type Json } from "../contract/index.ts";
import type { Gate } from "../gateway/index.ts";
import { assertJson, Refusal, readBody } from "../http/index.ts";
import { HttpClient } from "./http-client.ts";
import { mcpServerOf, type Offer } from "./server.ts";

/** The largest body that is parsed exactly. */
const BODY_LIMIT = { maxBytes: 1024 * 1024, code: "request_too_large" };
/** Clients of the previous protocol have an id; an agent has one or two. */
const MAX_CLIENTS = 16;

interface Known {
  readonly client: HttpClient;
  readonly server: Server;
}

export class McpFace {
  readonly #gate: Gate;
  readonly #modern = new Map<Offer, McpHttpHandler>();
  /** The oldest first. */
  readonly #clients = new Map<string, Known>();

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  async handle(request: IncomingMessage, response: ServerResponse, offer: Offer): Promise<void> {
    const { method } = request;
    const body = method === "POST" ? exactly(await readBody(request, BODY_LIMIT)) : undefined;
    if (Array.isArray(body))
      throw new Refusal(400, "invalid_data", "send one message per request, not an array");
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? this.#clients.get(id) : undefined;
    if (known && typeof id === "string") return this.#ofClient(id, known, request, response, body);
    if (body !== undefined && isInitializeRequest(body)) {
      assertJson(request);
      const message = messageIn(body);
      return (await this.#newClient(offer)).take(message, response);
    }
    await this.#ofOther(request, response, body, offer);
  }

  async close(): Promise<void> {
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    for (const { server } of clients) await server.close();
    for (const handler of this.#modern.values()) await handler.close();
  }

  #ofClient(
    id: string,
    { client }: Known,
    request: IncomingMessage,
    response: ServerResponse,
    body: Json | undefined,
  ): void {
    const version = request.headers["mcp-protocol-version"];
    if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(String(version)))
      throw new Refusal(
        400,
        "invalid_data",
        "the request has another protocol version than this client began with",
      );
    if (request.method === "DELETE") {
      this.#drop(id);
      return void response.writeHead(200).end();
    }
    // It is told nothing that it did not ask for: there is nothing to listen to.
    if (body === undefined) return void response.writeHead(405, { allow: "POST, DELETE" }).end();
    assertJson(request);
    client.take(messageIn(body), response);
  }

  async #ofOther(
    request: IncomingMessage,
    response: ServerResponse,
    body: Json | undefined,
    offer: Offer,
  ): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const asked = new Request(`http://localhost${request.url ?? "/"}`, {
      method: request.method ?? "GET",
      headers: headersOf(request),
      signal: gone.signal,
    });
    const isLegacy = await isLegacyRequest(asked, body);
    const parsed = body === undefined ? {} : { parsedBody: body };
    await send(isLegacy ? unknownClient() : await this.#handlerFor(offer).fetch(asked, parsed), response);
  }

  #handlerFor(offer: Offer): McpHttpHandler {
    const there = this.#modern.get(offer);
    if (there) return there;
    const handler = createMcpHandler(() => mcpServerOf(this.#gate, offer), { legacy: "reject" });
    this.#modern.set(offer, handler);
    return handler;
  }

  async #newClient(offer: Offer): Promise<HttpClient> {
    const server = mcpServerOf(this.#gate, offer);
    const client = new HttpClient();
    await server.connect(client);
    this.#clients.set(client.sessionId, { client, server });
    const [oldest] = this.#clients.keys();
    if (this.#clients.size > MAX_CLIENTS && oldest !== undefined) this.#drop(oldest);
    return client;
  }

  #drop(id: string): void {
    const known = this.#clients.get(id);
    this.#clients.delete(id);
    known?.server.close().catch(() => {});
  }
}

/** A client that gets this answer begins anew. */
const unknownClient = () =>
  Response.json(
    { jsonrpc: "2.0", id: null, error: { code: -32_001, message: "Session not found" } },
    { status: 404 },
  );

/** gate-6 */
function exactly(bytes: Buffer): Json {
  try {
    return parseExact(bytes);
  } catch (error) {
    if (isHoldfastError(error, "arguments_invalid")) throw new Refusal(400, error.code, error.message);
    throw error;
  }
}

function messageIn(body: Json): JSONRPCMessage {
  try {
    return parseJSONRPCMessage(body);
  } catch {
    throw new Refusal(400, "invalid_data", "the body is not a JSON-RPC 2.0 message");
  }
}

function headersOf({ headers }: IncomingMessage): Headers {
  const given = new Headers();
  for (const [name, value] of Object.entries(headers))
    if (typeof value === "string" && name !== "content-length") given.set(name, value);
  return given;
}

async function send(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (!answer.body) return void response.end();
  // A client that hangs up in the middle needs no more.
  await pipeline(Readable.fromWeb(answer.body as import("node:stream/web").ReadableStream), response).catch(
    () => {},
  );
}
