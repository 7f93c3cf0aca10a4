/**
 * Owns the door of a session: the one endpoint that its agent can reach, over a socket that stands in its sandbox.
 * It opens with this session's token alone. What the gateway will offer later hangs on it, too.
 *
 * V2 A request without this session's token, another session's included, learns nothing and changes nothing; it is
 *    counted here, and not journalled: nobody can fill a journal from outside.
 */

import { once } from "node:events";
import { chmodSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Message } from "../agent/index.ts";
import { HoldfastError, isHoldfastError } from "../contract/index.ts";
import { isSameToken } from "../home/index.ts";
import { MAX_MESSAGE_BYTES } from "../mail/index.ts";
import { parseObject, readTextOr, temporaryPath } from "../util/index.ts";

export interface DoorHandler {
  token(): Promise<string | undefined>;
  /** The oldest unread message; waits for one at most so long. */
  nextMessage(waitMs: number, gone: AbortSignal): Promise<Message | undefined>;
  entered(message: string): Promise<void>;
  send(to: string, text: string): Promise<string>;
  refused(): void;
}

/** A message in JSON, escapes and all. */
const MAX_BODY_BYTES = 2 * MAX_MESSAGE_BYTES;
const MAX_WAIT_MS = 60_000;
const MAX_CONNECTIONS = 128;
const MAX_IN_FLIGHT = 32;
/** Longer than anybody may wait for a message. */
const SILENCE_MS = 90_000;

export class Door {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #http: Promise<HttpServer> | undefined;
  readonly #dir: string;
  readonly #handler: DoorHandler;
  /** Questions that have no answer yet. */
  #inFlight = 0;

  private constructor(dir: string, handler: DoorHandler) {
    this.#dir = dir;
    this.#handler = handler;
    this.#server = createServer((socket) => this.#knock(socket));
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  static async open(dir: string, handler: DoorHandler): Promise<Door> {
    const door = new Door(dir, handler);
    const path = join(dir, "socket");
    rmSync(path, { force: true });
    door.#server.listen(path);
    await once(door.#server, "listening");
    chmodSync(path, 0o600);
    await door.copyToken();
    return door;
  }

  /** Most commands never do: who speaks HTTP is loaded for the first that does. */
  #knock(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("error", () => {});
    socket.setTimeout(SILENCE_MS, () => socket.destroy());
    this.#http ??= import("node:http").then(({ createServer: createHttp }) =>
      createHttp((request, response) => {
        this.#admit(request, response).catch((error: unknown) => fail(response, error));
      }),
    );
    this.#http.then(
      (http) => http.emit("connection", socket),
      () => socket.destroy(),
    );
  }

  /** Where the agent reads it. After a rotation the new one lies there; after a revocation, none. */
  async copyToken(): Promise<void> {
    const token = await this.#handler.token();
    const path = join(this.#dir, "token");
    if (token === undefined) return rmSync(path, { force: true });
    const text = `${token}\n`;
    if (readTextOr(path, "") === text) return;
    // Never gone in between: the agent reads it whenever it likes.
    const temporary = temporaryPath(path);
    writeFileSync(temporary, text, { mode: 0o600, flag: "wx" });
    renameSync(temporary, path);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #admit(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Whoever does not wait for an answer would have us keep all the questions.
    if (this.#inFlight >= MAX_IN_FLIGHT) {
      response.setHeader("connection", "close");
      reply(response, 429, { error: "too_many_requests", message: "too many requests have no answer yet" });
      request.socket.destroySoon();
      return;
    }
    this.#inFlight += 1;
    response.once("close", () => {
      this.#inFlight -= 1;
    });
    await this.#answer(request, response);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const given = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (!isSameToken(await this.#handler.token(), given)) {
      this.#handler.refused();
      return reply(response, 401, { error: "unauthorized", message: "this session's token is needed" });
    }
    const url = URL.parse(request.url ?? "/", "http://door");
    if (!url) return reply(response, 400, { error: "invalid_data", message: "that is no path" });
    const route = `${request.method} ${url.pathname}`;
    if (route === "GET /v1/inbox") return this.#inbox(url, response);
    const entered = /^POST \/v1\/inbox\/([a-z0-9_]+)\/entered$/.exec(route)?.[1];
    if (entered !== undefined) {
      await this.#handler.entered(entered);
      return reply(response, 200, { message: entered });
    }
    if (route === "POST /v1/outbox") {
      const body = await readBody(request, MAX_BODY_BYTES);
      const { to, text } = body;
      if (typeof to !== "string" || typeof text !== "string")
        throw new HoldfastError("invalid_data", "to and text are needed");
      return reply(response, 202, { message: await this.#handler.send(to, text) });
    }
    return reply(response, 404, { error: "not_found", message: "there is nothing here" });
  }

  async #inbox(url: URL, response: ServerResponse): Promise<void> {
    const seconds = Number(url.searchParams.get("wait") ?? 0);
    const waitMs = Number.isFinite(seconds) ? Math.min(Math.max(0, seconds * 1000), MAX_WAIT_MS) : 0;
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const message = await this.#handler.nextMessage(waitMs, gone.signal);
    if (message) return reply(response, 200, message);
    response.writeHead(204).end();
  }
}

const STATUS: Partial<Record<string, number>> = { message_too_large: 413, inbox_full: 429, queue_full: 429 };

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) response.destroy();
  else if (!isHoldfastError(error)) reply(response, 500, { error: "bug", message: "a bug of ours" });
  else reply(response, STATUS[error.code] ?? 400, { error: error.code, message: error.message });
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(`${JSON.stringify(body)}\n`);
}

async function readBody(request: IncomingMessage, maxBytes: number): Promise<Record<string, unknown>> {
  const tooLarge = () => new HoldfastError("message_too_large", `a body has ${maxBytes} bytes at most`);
  // Said before it is read: whoever is cut off while they write hears nothing.
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  const body = parseObject(Buffer.concat(chunks).toString("utf8"));
  if (!body) throw new HoldfastError("invalid_data", "the body is not a JSON object");
  return body;
}
