/**
 * A home with a real broker, a home directory of its user, and providers on loopback, for tests of what goes
 * between them.
 */
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { vi } from "vitest";
import { BrokerConnection, type ModelRequest } from "../../src/broker/connection.ts";
import { reachBroker, type StartOptions } from "../../src/broker/start.ts";
import { brokerPlace } from "../../src/broker/wire.ts";
import type { SessionId } from "../../src/contract/index.ts";
import { type Home, openHome } from "../../src/home/index.ts";
import { signalIfThere } from "../../src/util/index.ts";
import { TestHome } from "./home.ts";

/** A request that a provider heard. */
export interface Heard {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly raw: readonly string[];
  body: Buffer;
}

type Answer = (request: IncomingMessage, response: ServerResponse, heard: Heard) => void;

export class TestProvider implements AsyncDisposable {
  readonly heard: Heard[] = [];
  readonly #server: Server;

  private constructor(answer: Answer) {
    this.#server = createServer((request, response) => {
      const heard: Heard = {
        method: request.method ?? "",
        url: request.url ?? "",
        headers: request.headers,
        raw: request.rawHeaders,
        body: Buffer.alloc(0),
      };
      this.heard.push(heard);
      answer(request, response, heard);
    });
  }

  /** Answers as `answer` says; by default with `{}`, when the whole request was heard. */
  static async start(
    answer: Answer = whenHeard((_, response) => void response.end("{}")),
  ): Promise<TestProvider> {
    const provider = new TestProvider(answer);
    provider.#server.listen(0, "127.0.0.1");
    await once(provider.#server, "listening");
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The last request. */
  get last(): Heard {
    const last = this.heard.at(-1);
    if (!last) throw new Error("nothing was heard");
    return last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Answers when the whole body was heard. */
export function whenHeard(answer: Answer): Answer {
  return async (request, response, heard) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    heard.body = Buffer.concat(chunks);
    answer(request, response, heard);
  };
}

export class BrokerHome extends TestHome implements AsyncDisposable {
  readonly #connections: BrokerConnection[] = [];
  #home: Home | undefined;

  static async make(settings = ""): Promise<BrokerHome> {
    const made = new BrokerHome();
    made.#home = await openHome({ home: made.dir });
    mkdirSync(made.user);
    vi.stubEnv("HOLDFAST_USER_HOME", made.user);
    vi.stubEnv("CLAUDE_CONFIG_DIR", undefined);
    made.settings(settings);
    return made;
  }

  get home(): Home {
    if (!this.#home) throw new Error("it is not made");
    return this.#home;
  }

  /** HOME of the user. */
  get user(): string {
    return this.join("user");
  }

  get socket(): string {
    return brokerPlace(this.home.dir).socket;
  }

  get log(): string {
    return brokerPlace(this.home.dir).log;
  }

  settings(text: string): void {
    writeFileSync(this.join("home", "settings.yaml"), text, { mode: 0o600 });
  }

  /** Writes a file into HOME of the user. */
  userFile(name: string, text: string, mode = 0o600): string {
    const path = this.join("user", name);
    mkdirSync(this.join("user", name, ".."), { recursive: true });
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  }

  /** A session at rest. */
  async session(): Promise<SessionId> {
    const session = await (await this.open()).openSession();
    await session.pause();
    return session.id as SessionId;
  }

  async connect(session: SessionId): Promise<BrokerConnection> {
    const connection = await BrokerConnection.open(this.home, session);
    this.#connections.push(connection);
    return connection;
  }

  start(options: StartOptions): Promise<void> {
    return reachBroker(this.home, options);
  }

  /** The pid of the broker that answers, if one does. */
  async pid(): Promise<number | undefined> {
    try {
      const [answer] = (await once(
        get({ socketPath: this.socket, path: "/there", agent: false }),
        "response",
      )) as [IncomingMessage];
      return ((await json(answer)) as { pid: number }).pid;
    } catch {
      return undefined;
    }
  }

  async kill(): Promise<void> {
    const pid = await this.pid();
    if (pid !== undefined) signalIfThere(pid, "SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections) connection.close();
    await this.kill();
    vi.unstubAllEnvs();
    this[Symbol.dispose]();
  }
}

/** A request as an agent of the Anthropic API makes it, with its dummy key. */
export function modelRequest(more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    provider: "anthropic",
    method: "POST",
    path: "/v1/messages",
    headers: { "content-type": "application/json", "x-api-key": "dummy", "anthropic-version": "2023-06-01" },
    body: Buffer.from("{}"),
    ...more,
  };
}

/** The whole body of an answer. */
export async function bytesOf(body: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
