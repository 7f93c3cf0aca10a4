/**
 * Owns the broker's endpoint: a socket in the runtime directory, which only the user can enter. It takes
 * keys, reports which exist, and forwards requests with them.
 *
 * key-2 A credential is used only for a session that sent its token. The token is compared in constant time,
 *    and read again for each request and while its answer runs. When a token is revoked or changed, only that
 *    session is cut off.
 */
import { once } from "node:events";
import { chmodSync, existsSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  HoldfastError,
  isHoldfastError,
  isSessionId,
  type SessionId,
  type Values,
} from "../contract/index.ts";
import { type Home, readToken, sessionDirOf } from "../home/index.ts";
import { bearerOf, isSameToken, parseBody, readBody, reply } from "../http/index.ts";
import { realDisk } from "../util/index.ts";
import { requestHeaders } from "./credential.ts";
import { CurrentSettings } from "./current-settings.ts";
import { passOn, Upstreams } from "./forward.ts";
import type { HeldSessions } from "./held.ts";
import type { Keys } from "./keys.ts";
import type { ClaudeLogins } from "./login.ts";
import { loginDirOf } from "./login-dir.ts";
import { findProvider } from "./providers.ts";
import { targetOf } from "./target.ts";
import { FAILURE, PROVIDER_NAME, paths, SPARE } from "./wire.ts";

const MAX_KEYS_BYTES = 1024 * 1024;
/** More than all sessions of a machine need at once. */
const MAX_CONNECTIONS = 2000;
/** A session's connections stay open between its requests. */
const KEEP_ALIVE_MS = 60_000;

export interface ServerOptions {
  readonly home: Pick<Home, "dir">;
  readonly keys: Keys;
  readonly logins: ClaudeLogins;
  readonly held: HeldSessions;
  readonly say: (line: string) => void;
}

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly session: SessionId;
  /** The part of the path after the session. */
  readonly rest: string;
}

export class BrokerServer {
  readonly #options: ServerOptions;
  readonly #settings: CurrentSettings;
  readonly #upstreams = new Upstreams();
  readonly #server: Server;
  /** The answers that are under way. */
  readonly #running = new Set<Call>();

  private constructor(options: ServerOptions) {
    this.#options = options;
    this.#settings = new CurrentSettings(options.home.dir);
    // The agent sends the body, so it may take any time.
    const timeouts = { requestTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS };
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      response.on("error", () => {});
      this.#answer(request, response).catch((error: unknown) => this.#fail(response, error));
    };
    this.#server = createServer(timeouts, answer).on("checkContinue", answer);
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  /** Replaces a socket that an ended broker left. */
  static async open(path: string, options: ServerOptions): Promise<BrokerServer> {
    const broker = new BrokerServer(options);
    rmSync(path, { force: true });
    broker.#server.listen(path);
    await once(broker.#server, "listening");
    chmodSync(path, 0o600);
    return broker;
  }

  /**
   * key-2: cuts off requests of sessions whose token was changed or revoked. It has to poll, because no event
   * tells.
   */
  async cutRevoked(): Promise<void> {
    for (const call of this.#running)
      if (!(await this.#isOwn(call).catch(() => false))) call.response.destroy();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "" } = request;
    if (url === paths.there) return reply(response, 200, { pid: process.pid });
    // Only the user can reach this socket.
    if (url === paths.login) return this.#tellLogin(request, response);
    const [, asked = "", session = "", rest = ""] = /^(\/[a-z]+\/)([^/?]+)(.*)$/s.exec(url) ?? [];
    if (!isSessionId(session)) throw refused("names no session");
    const call = { request, response, session, rest };
    if (asked === paths.keys) return this.#take(call);
    if (asked === paths.stay) return this.#stay(call);
    if (!(await this.#isOwn(call)))
      throw new HoldfastError("token_revoked", `the token of ${session} is not valid any more`, { session });
    if (asked === paths.credential) return this.#tell(call);
    if (asked === paths.variables) return this.#giveVariables(call);
    if (asked === paths.forward) return this.#forward(call);
    throw refused("is not one that the broker knows");
  }

  /** Needs no token: only the user can reach this socket, and the session may not exist yet. */
  async #take({ request, response, session, rest }: Call): Promise<void> {
    const body = parseBody(await readBody(request, { maxBytes: MAX_KEYS_BYTES, code: "invalid_data" }));
    this.#options.keys.bring(session, valuesIn(body), { isSpare: rest === SPARE });
    this.#options.held.see(session);
    reply(response, 200, {});
  }

  #stay({ response, session }: Call): void {
    response.writeHead(200).flushHeaders();
    response.once("close", this.#options.held.connect(session));
  }

  #tellLogin(request: IncomingMessage, response: ServerResponse): void {
    const dir = loginDirOf(request);
    reply(response, 200, { login: (dir !== undefined && this.#options.logins.in(dir).time()) || null });
  }

  async #tell({ request, response, session, rest }: Call): Promise<void> {
    const settings = await this.#settings.read();
    const provider = findProvider(settings, nameIn(rest).name);
    const of = { session, loginDir: loginDirOf(request) };
    const credential = await this.#options.keys.credentialFor(of, provider, settings);
    reply(response, 200, { kind: credential?.form === "login" ? "login" : "key" });
  }

  async #giveVariables({ request, response, session }: Call): Promise<void> {
    const body = parseBody(await readBody(request, { maxBytes: MAX_KEYS_BYTES, code: "invalid_data" }));
    const names = Array.isArray(body["names"]) ? body["names"].map(String) : [];
    reply(response, 200, this.#options.keys.brought(session, names));
  }

  async #forward(call: Call): Promise<void> {
    const { request, response, session, rest } = call;
    const { keys, held } = this.#options;
    this.#running.add(call);
    response.once("close", () => this.#running.delete(call));
    held.see(session);
    const settings = await this.#settings.read();
    const { name, path } = nameIn(rest);
    const provider = findProvider(settings, name);
    const target = targetOf(provider, request.method ?? "", path);
    const of = { session, loginDir: loginDirOf(request) };
    const credential = await keys.credentialFor(of, provider, settings);
    const headers = requestHeaders(provider.api, request.rawHeaders, credential);
    // Before that, a body that comes in pieces still belongs to the caller.
    if (request.headers.expect !== undefined) response.writeContinue();
    const secret = credential?.value;
    const passing = { request, response, target, headers, own: [FAILURE], secret };
    const status = await passOn(this.#upstreams, passing);
    if (status === 401 && credential) await keys.refuse(provider, credential);
  }

  async #isOwn({ request, session }: Call): Promise<boolean> {
    const dir = sessionDirOf(this.#options.home, session);
    const expected = existsSync(dir) ? await readToken(realDisk, dir) : undefined;
    return isSameToken(expected, bearerOf(request));
  }

  /**
   * An answer that has begun is cut off, because it can't be changed. Unknown failures are reported without
   * details.
   */
  #fail(response: ServerResponse, error: unknown): void {
    // The client has hung up.
    if (response.destroyed) return;
    const known = isHoldfastError(error) ? error : undefined;
    this.#options.say(known ? `${known.code}: ${known.message}` : `bug: ${(error as Error)?.stack}`);
    if (response.headersSent) return void response.destroy();
    const {
      code = "broker_failed",
      message = "an internal error: see the broker's log",
      facts = {},
    } = known ?? {};
    response.setHeader(FAILURE, code);
    reply(response, 502, { code, message, facts });
  }
}

function nameIn(rest: string): { name: string; path: string } {
  const [, name = "", path = ""] = /^\/([^/?]*)(.*)$/s.exec(rest) ?? [];
  if (!PROVIDER_NAME.test(name))
    throw new HoldfastError("unknown_provider", "the path has no valid name of a provider", {
      provider: name,
    });
  return { name, path };
}

/** Keeps only what has the form of variables. */
export function valuesIn(body: Record<string, unknown>): Values {
  return Object.fromEntries(
    Object.entries(body).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

const refused = (why: string) => new HoldfastError("request_refused", `the request ${why}`);
