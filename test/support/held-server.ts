/**
 * A server on loopback that answers when it is told to, and remembers what it was asked.
 */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface HeardRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export class HeldServer implements AsyncDisposable {
  readonly heard: HeardRequest[] = [];
  answer: (request: HeardRequest) => { status?: number; headers?: Record<string, string>; body?: string } =
    () => ({});
  readonly #server: Server;
  #letGo: () => void = () => {};
  readonly #free = new Promise<void>((resolve) => {
    this.#letGo = resolve;
  });

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const { method = "", url = "", headers } = request;
      const heard = { method, url, headers, body: await text(request) };
      this.heard.push(heard);
      await this.#free;
      const { status = 200, headers: own = {}, body = "done" } = this.answer(heard);
      response.writeHead(status, own).end(body);
    });
  }

  static async start(): Promise<HeldServer> {
    const server = new HeldServer();
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://localhost:${this.port}/act`;
  }

  /** Answers every request that waits, and from now on every one at once. */
  letGo(): void {
    this.#letGo();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.letGo();
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
