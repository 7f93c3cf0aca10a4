/**
 * Owns the door of a session: the one endpoint that its agent can reach, over a socket in its sandbox. It
 * opens only with this session's token. The session's tools are behind it, too.
 *
 * door-1 A request without this session's token, another session's token included, learns nothing and changes
 *        nothing. It is counted here, and not journalled, so no journal can be filled from outside.
 */

import { once } from "node:events";
import { chmodSync, chownSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { ErrorCode } from "../contract/index.ts";
import {
  bearerOf,
  type FailureForm,
  fail,
  findRoute,
  isSameToken,
  notFound,
  Refusal,
  type Route,
  reply,
  urlOf,
} from "../http/index.ts";
import { layShim } from "../mcp/index.ts";
import { readTextOr, temporaryPath } from "../util/index.ts";
import { type DoorCall, type DoorHandler, doorRoutes } from "./door-routes.ts";
import { offerAt } from "./tool-gate.ts";

const MAX_CONNECTIONS = 128;
const MAX_IN_FLIGHT = 32;
/** Longer than any request may wait for a message. */
const SILENCE_MS = 90_000;

export class Door {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #http: Promise<HttpServer> | undefined;
  readonly #dir: string;
  readonly #handler: DoorHandler;
  readonly #routes: readonly Route<DoorCall>[];
  /** Requests that have no answer yet. */
  #inFlight = 0;

  private constructor(dir: string, handler: DoorHandler) {
    this.#dir = dir;
    this.#handler = handler;
    this.#routes = doorRoutes(handler);
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
    layShim(dir);
    return door;
  }

  /** Most commands never use the door, so the HTTP code is loaded for the first request. */
  #knock(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("error", () => {});
    socket.setTimeout(SILENCE_MS, () => socket.destroy());
    this.#http ??= import("node:http").then(({ createServer: createHttp }) =>
      createHttp((request, response) => {
        this.#admit(request, response).catch((error: unknown) => fail(response, error, FAILURES));
      }),
    );
    this.#http.then(
      (http) => http.emit("connection", socket),
      () => socket.destroy(),
    );
  }

  /**
   * The file from which the agent reads it. After a rotation it has the new token; after a revocation there
   * is none.
   */
  async copyToken(): Promise<void> {
    const token = await this.#handler.token();
    const path = join(this.#dir, "token");
    if (token === undefined) return rmSync(path, { force: true });
    const text = `${token}\n`;
    if (readTextOr(path, "") === text) return;
    // The file exists all the time, because the agent may read it at any moment.
    const temporary = temporaryPath(path);
    writeFileSync(temporary, text, { mode: 0o600, flag: "wx" });
    // The directory belongs to the agent's user, which need not be ours.
    const { uid, gid } = statSync(this.#dir);
    if (uid !== process.getuid?.()) chownSync(temporary, uid, gid);
    renameSync(temporary, path);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #admit(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that sends requests without waiting for answers would make us keep all of them.
    if (this.#inFlight >= MAX_IN_FLIGHT) {
      response.setHeader("connection", "close");
      reply(response, 429, {
        error: "too_many_requests",
        message: "too many requests wait for an answer: wait for one before sending the next",
      });
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
    if (!isSameToken(await this.#handler.token(), bearerOf(request))) {
      this.#handler.refused();
      throw new Refusal(
        401,
        "unauthorized",
        "send the session's token as `authorization: Bearer TOKEN`; the file that HOLDFAST_TOKEN_FILE names has it",
      );
    }
    const url = urlOf(request);
    const offer = offerAt(url.pathname);
    if (offer !== undefined) return this.#handler.tools({ request, response, url, params: {} }, offer);
    const found = findRoute(this.#routes, request.method, url.pathname);
    if (!found) throw notFound();
    const answer = await found.route.answer({ request, response, url, params: found.params });
    if (answer) reply(response, 200, answer);
  }
}

const STATUS: Partial<Record<ErrorCode, number>> = {
  inbox_full: 429,
  message_too_large: 413,
  queue_full: 429,
};

/** The connection stays open, so that a client that is still sending its body reads what is wrong with it. */
const FAILURES: FailureForm = {
  statusOf: (code) => STATUS[code] ?? 400,
  tellsWayOut: false,
  endsConnection: false,
};
