/**
 * Owns the way of a task's agent to its models: an HTTP server that only the task's processes reach, under a path for
 * each provider. In a sandbox it listens in the task's own network, which says whose request it is; without one, on this
 * machine's loopback, and the agent's key says it.
 */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { ModelAccess } from "../agent/index.ts";
import { BrokerConnection, findProvider } from "../broker/index.ts";
import { HoldfastError, type Parked } from "../contract/index.ts";
import { type Home, readSettings, readToken, sessionDirOf } from "../home/index.ts";
import { bearerOf, type FailureForm, fail, isSameToken, Refusal, readBody } from "../http/index.ts";
import { Prices } from "../metering/index.ts";
import type { Session } from "../session/index.ts";
import type { Task } from "../task/index.ts";
import { BodyRoom } from "./body-room.ts";
import { ModelForward } from "./model-forward.ts";
import { ModelHold } from "./model-hold.ts";
import { modelOf, wantedOf } from "./model-request.ts";

/** Pictures and long files come in one request. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;
/** Of all requests that are under way or held. */
const MAX_HELD_BYTES = 4 * MAX_BODY_BYTES;
const MAX_CONNECTIONS = 128;
const MINUTE_MS = 60_000;
/** Opens nothing: in a sandbox, whose network it is says enough. */
const KEY_INSIDE = "sk-holdfast-0000000000000000000000000000";

export interface RouteOptions {
  readonly park: (why: Parked) => void;
  /** Requests wait: a person is told why, once. */
  readonly onHeld: (why: Parked) => void;
  /** A provider failed; said of each failure once. */
  readonly onFault: (what: string) => void;
}

interface Opened {
  readonly origin: string;
  readonly key: string;
}

export class ModelRoute {
  readonly #home: Home;
  readonly #task: Task;
  readonly #options: RouteOptions;
  readonly #sockets = new Set<Socket>();
  #broker: Promise<BrokerConnection> | undefined;
  #opened: Promise<Opened> | undefined;
  #server: Server | undefined;
  #hold: ModelHold | undefined;

  constructor(home: Home, task: Task, options: RouteOptions) {
    this.#home = home;
    this.#task = task;
    this.#options = options;
  }

  /** Opened for the first that asks. */
  async model(provider: string): Promise<ModelAccess> {
    const { api } = findProvider(await readSettings(this.#home.dir), provider);
    this.#broker ??= this.#reach();
    this.#opened ??= this.#open(this.#broker);
    // Both may fail, so neither may be left to itself.
    const [credential, { origin, key }] = await Promise.all([
      this.#broker.then((open) => open.credential(provider)),
      this.#opened,
    ]);
    // Without one the agent waits at its first request, where it is said which key is missing.
    return { url: `${origin}/${provider}`, api, key, kind: credential?.kind ?? "key" };
  }

  /** Why the agent's last request waited in vain, if none has gone since. */
  get held(): Parked | undefined {
    return this.#hold?.held;
  }

  async close(): Promise<void> {
    this.#hold?.close();
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
    (await this.#broker?.catch(() => undefined))?.close();
  }

  get #session(): Session {
    return this.#task.room.session;
  }

  /** Tried again by the next that asks, if it fails. */
  #reach(): Promise<BrokerConnection> {
    const broker = BrokerConnection.open(this.#home, this.#session.id);
    broker.catch(() => {
      this.#broker = undefined;
    });
    return broker;
  }

  /** Tried again by the next that asks, if it fails. */
  #open(broker: Promise<BrokerConnection>): Promise<Opened> {
    const opened = this.#listen(broker);
    opened.catch(() => {
      this.#opened = undefined;
    });
    return opened;
  }

  async #listen(broker: Promise<BrokerConnection>): Promise<Opened> {
    const isOpen = this.#task.sandbox === undefined;
    const key = isOpen ? await this.#ownKey() : KEY_INSIDE;
    const http = await this.#http(await broker, isOpen ? key : undefined);
    const accept = (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket)).on("error", () => {});
      if (this.#sockets.size > MAX_CONNECTIONS) return void socket.destroy();
      http.emit("connection", socket);
    };
    if (!isOpen) return { origin: `http://127.0.0.1:${await this.#task.network.serve(accept)}`, key };
    const server = createServer({ noDelay: true }, accept);
    this.#server = server;
    server.unref().listen(0, "127.0.0.1");
    await once(server, "listening");
    return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key };
  }

  /** The session's own, and not its token: what an environment holds can be read by others of the same user. */
  async #ownKey(): Promise<string> {
    const token = await readToken(this.#home.io.disk, sessionDirOf(this.#home, this.#session.id));
    if (token === undefined) throw new HoldfastError("token_revoked", "the session's token was revoked");
    return `sk-holdfast-${createHmac("sha256", token).update("model route").digest("hex")}`;
  }

  async #http(broker: BrokerConnection, key: string | undefined): Promise<HttpServer> {
    const { createServer: createHttp } = await import("node:http");
    const { clock } = this.#home.io;
    const settings = await readSettings(this.#home.dir);
    const { park, onHeld, onFault } = this.#options;
    const told = new Set<string>();
    const hold = new ModelHold(this.#session, { clock, holdMs: settings.hold_minutes * MINUTE_MS, onHeld });
    this.#hold = hold;
    const forward = new ModelForward({
      session: this.#session,
      task: this.#task.number,
      broker,
      prices: new Prices(settings.prices),
      readPrices: async () => new Prices((await readSettings(this.#home.dir)).prices),
      hold,
      clock,
      park,
      onFault: (what) => {
        if (told.has(what)) return;
        told.add(what);
        onFault(what);
      },
    });
    const room = new BodyRoom({ bytes: MAX_HELD_BYTES, mostEach: MAX_BODY_BYTES });
    const answer = async (request: IncomingMessage, response: ServerResponse) => {
      if (key !== undefined && !isSameToken(key, keyOf(request)))
        throw new Refusal(401, "unauthorized", "this session's key is needed");
      const wanted = wantedOf(request);
      const { api } = findProvider(settings, wanted.provider);
      room.hold(request, response);
      const body = await readBody(request, { maxBytes: MAX_BODY_BYTES, code: "request_too_large" });
      const { method = "GET", headers } = request;
      const model = modelOf({ api, path: wanted.path }, body);
      await forward.answer({ ...wanted, method, headers, body, api, model }, response);
    };
    return createHttp((request, response) => {
      answer(request, response).catch((error: unknown) => fail(response, error, FAILURES));
    });
  }
}

/** Each API has its own place for it. */
function keyOf(request: IncomingMessage): string | undefined {
  const { headers, url = "" } = request;
  const own = headers["x-api-key"] ?? headers["x-goog-api-key"];
  return (
    bearerOf(request) ??
    (typeof own === "string" ? own : (new URL(url, "http://x").searchParams.get("key") ?? undefined))
  );
}

/** An agent that is told of a failure of the way tries again; of a refusal, it doesn't. */
const FAILURES: FailureForm = {
  statusOf: (code) => (code === "broker_failed" || code === "provider_unreachable" ? 502 : 403),
  tellsWayOut: true,
  endsConnection: true,
};
