/**
 * Owns a session process's connection to the broker. While it is open, the broker stays. If the broker ends,
 * the next request starts another one, which gets every key that is still available.
 */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { HoldfastError, isHoldfastError, type SessionId } from "../contract/index.ts";
import { type Home, readToken, sessionDirOf } from "../home/index.ts";
import { ask, failureIn, type Question, Unheard } from "./asking.ts";
import { requestHeaders } from "./credential.ts";
import { loginHeaders } from "./login-dir.ts";
import { failed, reachBroker } from "./start.ts";
import { brokerPlace, PROVIDER_NAME, paths } from "./wire.ts";

export interface ModelRequest {
  readonly provider: string;
  readonly method: string;
  /** With its query, as the agent sent it. */
  readonly path: string;
  /** The headers of the agent's request, including its dummy key. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable | Buffer;
  readonly signal?: AbortSignal;
}

export interface ModelAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Ends with an error when the provider breaks off. Destroying it ends the request at the provider. */
  readonly body: Readable;
}

const PATH = /^\/[\x21-\x7e]*$/;

export class BrokerConnection {
  readonly #home: Home;
  readonly #session: SessionId;
  /** While it is open, the broker runs and stays. */
  #stay: Promise<IncomingMessage> | undefined;

  private constructor(home: Home, session: SessionId) {
    this.#home = home;
    this.#session = session;
  }

  static async open(home: Home, session: SessionId): Promise<BrokerConnection> {
    const connection = new BrokerConnection(home, session);
    await connection.#reach();
    return connection;
  }

  /**
   * Resolves when the answer has begun, whatever its status is. Fails with `key_missing`, `login_expired`,
   * `token_revoked`, `request_refused`, `unknown_provider`, `provider_unreachable` or `broker_failed`.
   */
  async forward({ provider, method, path, headers, body, signal }: ModelRequest): Promise<ModelAnswer> {
    if (!PROVIDER_NAME.test(provider)) throw unknownProvider(provider);
    if (!PATH.test(path))
      throw new HoldfastError("request_refused", "the request has no valid path", { provider });
    const hasBody = method !== "GET" && method !== "HEAD";
    const answer = await this.#asOwn({
      method,
      path: `${paths.forward}${this.#session}/${provider}${path}`,
      headers: rawOf(headers, { hasLength: hasBody && !Buffer.isBuffer(body) }),
      ...(hasBody && { body }),
      signal,
    });
    return { status: answer.statusCode ?? 502, headers: answer.headers, body: answer };
  }

  /**
   * The kind of credential for a provider; undefined when there is none. A provider that needs no key counts
   * as having one, and an expired login counts as a login: the next request reports it.
   */
  async credential(provider: string): Promise<{ readonly kind: "key" | "login" } | undefined> {
    if (!PROVIDER_NAME.test(provider)) throw unknownProvider(provider);
    const path = `${paths.credential}${this.#session}/${provider}`;
    try {
      const answer = await this.#asOwn({ method: "GET", path, headers: [] });
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      return { kind: JSON.parse(Buffer.concat(chunks).toString("utf8")).kind === "login" ? "login" : "key" };
    } catch (error) {
      if (isHoldfastError(error, "key_missing")) return undefined;
      if (isHoldfastError(error, "login_expired")) return { kind: "login" };
      throw error;
    }
  }

  close(): void {
    const stay = this.#stay;
    this.#stay = undefined;
    stay?.then(
      (open) => open.destroy(),
      () => {},
    );
  }

  async #asOwn(question: Omit<Question, "socket">): Promise<IncomingMessage> {
    const token = await readToken(this.#home.io.disk, sessionDirOf(this.#home, this.#session));
    if (token === undefined)
      throw new HoldfastError("token_revoked", `the token of ${this.#session} was revoked`);
    const own = ["authorization", `Bearer ${token}`, ...loginHeaders(process.env)];
    const headers = [...question.headers, ...own];
    try {
      const answer = await this.#ask({ ...question, headers });
      const failure = await failureIn(answer);
      if (failure) throw failure;
      return answer;
    } catch (error) {
      if (question.signal?.aborted) throw new HoldfastError("interrupted", "the request was cancelled");
      throw isHoldfastError(error) ? error : failed(this.#home, "it ended in the middle of a request");
    }
  }

  async #ask(question: Omit<Question, "socket">): Promise<IncomingMessage> {
    const { socket } = brokerPlace(this.#home.dir);
    await this.#reach();
    const stay = this.#stay;
    try {
      return await ask({ ...question, socket });
    } catch (error) {
      if (!(error instanceof Unheard)) throw error;
      // The broker was killed just now.
      if (this.#stay === stay) this.#stay = undefined;
      await this.#reach();
      return ask({ ...question, socket });
    }
  }

  /** Callers that find no broker at the same time share one start. */
  async #reach(): Promise<void> {
    if (!this.#stay) {
      const stay = stayAt(this.#home, this.#session);
      const gone = () => {
        if (this.#stay === stay) this.#stay = undefined;
      };
      this.#stay = stay;
      stay.then((open) => open.once("close", gone), gone);
    }
    await this.#stay;
  }
}

/** The broker that was found may be about to end. A limited number of further attempts looks for another. */
const ATTEMPTS = 4;

async function stayAt(home: Home, session: SessionId): Promise<IncomingMessage> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const path = paths.stay + session;
      const open = await ask({ socket: brokerPlace(home.dir).socket, method: "GET", path, headers: [] });
      open.on("error", () => {}).resume();
      // The connection keeps the broker running, not this process.
      open.socket.unref();
      return open;
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof Unheard)) throw failed(home, "it does not answer");
    }
    await reachBroker(home);
  }
}

const unknownProvider = (provider: string) =>
  new HoldfastError("unknown_provider", "the request has no valid name of a provider", { provider });

/**
 * Leaves out headers that were meant for Holdfast only. The length is kept when the body is passed on as it
 * comes.
 */
function rawOf(headers: IncomingHttpHeaders, { hasLength }: { readonly hasLength: boolean }): string[] {
  const raw = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []]
      .flat()
      .flatMap((one) => (name === "content-length" && !hasLength ? [] : [name, String(one)])),
  );
  return requestHeaders("openai", raw, undefined);
}
