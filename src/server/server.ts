/**
 * Owns the HTTP server of a home: on a socket that only its user can open, or on loopback if that is asked for.
 *
 * server-1 A request without a user's token learns nothing; one with it sees that user's sessions and no others.
 */

import { once } from "node:events";
import { chmodSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { errorCodes, exitStatus, HoldfastError, isSessionId } from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import {
  assertLocal,
  bearerOf,
  type FailureForm,
  fail,
  findRoute,
  hasPath,
  notFound,
  Refusal,
  reply,
  urlOf,
} from "../http/index.ts";
import { errorCode } from "../util/index.ts";
import type { ApiRoute } from "./api-route.ts";
import { userOf } from "./api-token.ts";
import { EventStreams } from "./events.ts";
import { assertQuery } from "./query.ts";
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
  readonly #routes: readonly ApiRoute[];
  readonly #strangers = new Strangers();
  #port: number | null = null;

  private constructor(dispatcher: Dispatcher, say: (text: string) => void) {
    this.#dispatcher = dispatcher;
    const { signal } = this.#stop;
    const streams = new EventStreams(dispatcher.home.io.clock, signal);
    this.#routes = routesOf(dispatcher, streams, { signal, say });
    const timeouts = {
      // It runs from the moment of the connection, also where not a byte comes.
      headersTimeout: 5000,
      requestTimeout: 30_000,
      keepAliveTimeout: 5000,
      connectionsCheckingInterval: 1000,
    };
    this.#server = createServer(timeouts, (request, response) => {
      this.#answer(request, response).catch((error: unknown) => fail(response, error, FAILURES));
    });
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on("connection", (socket) => this.#strangers.enter(socket));
    // A malformed or incomplete request is answered, if the client still reads, and its connection is closed.
    this.#server.on("clientError", (_error, socket: Socket) => {
      if (socket.writable) socket.write("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
      socket.destroySoon();
    });
  }

  /** `say` shows what no answer can report. */
  static async open(
    dispatcher: Dispatcher,
    address: Address,
    say: (text: string) => void,
  ): Promise<ApiServer> {
    const server = new ApiServer(dispatcher, say);
    if ("path" in address) rmSync(address.path, { force: true });
    server.#server.listen(address);
    await once(server.#server, "listening").catch((error: unknown) => {
      const code = errorCode(error) ?? "";
      if (!["EADDRINUSE", "EACCES", "EADDRNOTAVAIL"].includes(code)) throw error;
      const where = "path" in address ? address.path : `${address.host}:${address.port}`;
      const why = code === "EADDRINUSE" ? "another program listens there" : "listening there is not possible";
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
    const user = userOf(this.#dispatcher.home, bearerOf(request));
    if (user === undefined)
      throw new Refusal(
        401,
        "unauthorized",
        "send a user's token as `authorization: Bearer TOKEN`; docs/protocol.md names its file",
      );
    this.#strangers.leave(request.socket);
    const url = urlOf(request);
    const found = findRoute(this.#routes, request.method, url.pathname);
    if (!found)
      throw hasPath(this.#routes, url.pathname)
        ? new Refusal(405, "wrong_method", `${request.method} is not possible here`)
        : notFound();
    assertQuery(found.route.query, url);
    const { id } = found.params;
    if (id !== undefined && !isSessionId(id))
      throw new Refusal(400, "invalid_id", "that is not a session id");
    const answer = await found.route.answer({
      request,
      response,
      url,
      user,
      id: id ?? "",
      params: found.params,
    });
    if (answer) reply(response, 200, answer);
  }
}

const STATUS: Readonly<Record<number, number>> = {
  [exitStatus.usage]: 400,
  [exitStatus.notFound]: 404,
  [exitStatus.damaged]: 422,
};

const FAILURES: FailureForm = {
  statusOf: (code) => (code === "message_too_large" ? 413 : (STATUS[errorCodes[code][0]] ?? 409)),
  tellsWayOut: true,
  endsConnection: true,
};
