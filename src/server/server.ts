/**
 * Owns the HTTP server of a home: on a socket that only its user can open, or on loopback if that is asked for.
 *
 * V3 A request without a user's token learns nothing; one with it sees that user's sessions and no others.
 */

import { once } from "node:events";
import { chmodSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { errorCodes, exitStatus, HoldfastError, isHoldfastError, isSessionId } from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import { errorCode, isDiskFull } from "../util/index.ts";
import { userOf } from "./api-token.ts";
import { EventStreams } from "./events.ts";
import { assertLocal, bearer, Refusal } from "./request.ts";
import { routesOf } from "./routes.ts";
import { Strangers } from "./strangers.ts";

export type Address = { readonly path: string } | { readonly host: string; readonly port: number };

const MAX_CONNECTIONS = 2000;
const LOOPBACK = /^(127\.0\.0\.1|\[::1\]|localhost):(\d{1,5})$/;

/** `127.0.0.1:7070`, `[::1]:7070`, `localhost:0`. */
export function parseAddress(text: string): Address {
  const [, host, port] = LOOPBACK.exec(text) ?? [];
  if (host === undefined || Number(port) > 65_535)
    throw new HoldfastError(
      "address_refused",
      `${JSON.stringify(text)} is not a loopback address and a port`,
    );
  return { host: host.replace(/[[\]]/g, ""), port: Number(port) };
}

export class ApiServer {
  readonly #dispatcher: Dispatcher;
  readonly #server: Server;
  readonly #stop = new AbortController();
  readonly #routes: ReturnType<typeof routesOf>;
  readonly #strangers = new Strangers();
  #port: number | null = null;

  private constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
    this.#routes = routesOf(dispatcher, new EventStreams(this.#stop.signal));
    const timeouts = {
      // It runs from the moment of the connection, also where not a byte comes.
      headersTimeout: 5000,
      requestTimeout: 30_000,
      keepAliveTimeout: 5000,
      connectionsCheckingInterval: 1000,
    };
    this.#server = createServer(timeouts, (request, response) => {
      this.#answer(request, response).catch((error: unknown) => fail(response, error));
    });
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on("connection", (socket) => this.#strangers.enter(socket));
    // Half a request, or none: an answer, where one is possible, and the end, whether the other side ends it or not.
    this.#server.on("clientError", (_error, socket: Socket) => {
      if (socket.writable) socket.write("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
      socket.destroySoon();
    });
  }

  static async open(dispatcher: Dispatcher, address: Address): Promise<ApiServer> {
    const server = new ApiServer(dispatcher);
    if ("path" in address) rmSync(address.path, { force: true });
    server.#server.listen(address);
    await once(server.#server, "listening").catch((error: unknown) => {
      const code = errorCode(error) ?? "";
      if (!["EADDRINUSE", "EACCES", "EADDRNOTAVAIL"].includes(code)) throw error;
      const where = "path" in address ? address.path : `${address.host}:${address.port}`;
      const why = code === "EADDRINUSE" ? "somebody else listens there" : "it can't be listened at";
      throw new HoldfastError("address_refused", `${where}: ${why}`, { code });
    });
    if ("path" in address) chmodSync(address.path, 0o600);
    else server.#port = (server.#server.address() as AddressInfo).port;
    return server;
  }

  /** How it is reached. */
  get address(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") return address ?? "";
    const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
    return `${host}:${address.port}`;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    assertLocal(request, this.#port);
    const user = userOf(this.#dispatcher.home, bearer(request));
    if (user === undefined) throw new Refusal(401, "unauthorized", "the token of a user is needed");
    this.#strangers.leave(request.socket);
    const url = URL.parse(request.url ?? "/", "http://localhost");
    if (!url) throw new Refusal(400, "invalid_data", "that is no path");
    const id = /^\/v1\/sessions\/([^/]+)/.exec(url.pathname)?.[1] ?? "";
    const path = url.pathname.replace(/^\/v1\/sessions\/[^/]+/, "/v1/sessions/:id");
    const there = this.#routes.filter((route) => route.path === path);
    const route = there.find(({ method }) => method === request.method);
    if (!route)
      throw there.length > 0
        ? new Refusal(405, "wrong_method", `${request.method} is not possible here`)
        : new Refusal(404, "not_found", "there is nothing here");
    if (path.includes(":id") && !isSessionId(id))
      throw new Refusal(400, "invalid_id", "that is not a session id");
    const answer = await route.answer({ request, response, url, user, id });
    if (answer) reply(response, 200, answer);
  }
}

const STATUS: Readonly<Record<number, number>> = {
  [exitStatus.usage]: 400,
  [exitStatus.notFound]: 404,
  [exitStatus.damaged]: 422,
};

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) response.destroy();
  else if (error instanceof Refusal) refuse(response, error.status, error.code, error.message);
  else if (isHoldfastError(error)) {
    const status = error.code === "message_too_large" ? 413 : (STATUS[errorCodes[error.code][0]] ?? 409);
    refuse(response, status, error.code, error.message, error.wayOut);
  } else if (isDiskFull(error)) fail(response, new HoldfastError("disk_full", "the disk is full"));
  else refuse(response, 500, "bug", "a bug of ours");
}

function refuse(response: ServerResponse, status: number, code: string, message: string, wayOut = ""): void {
  // What is left of a body that nobody reads must not be taken for the next request.
  response.setHeader("connection", "close");
  reply(response, status, { error: code, message, ...(wayOut && { wayOut }) });
}

function reply(response: ServerResponse, status: number, body: object): void {
  const headers = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  response.writeHead(status, headers).end(`${JSON.stringify(body)}\n`);
}
