/**
 * A collector of traces on loopback: it keeps what it is sent, and answers as it is told.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Got {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

type Answer = (response: ServerResponse, got: Got) => void;

export class Collector implements AsyncDisposable {
  readonly got: Got[] = [];
  readonly #server: Server;
  readonly #first = Promise.withResolvers<Got>();

  private constructor(answer: Answer) {
    this.#server = createServer(async (request, response) => {
      response.on("error", () => {});
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      const got = {
        path: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(parts).toString(),
      };
      this.got.push(got);
      answer(response, got);
      this.#first.resolve(got);
    });
  }

  static async open(answer: Answer = (response) => response.end("{}")): Promise<Collector> {
    const collector = new Collector(answer);
    await new Promise<void>((resolve) => collector.#server.listen(0, "127.0.0.1", resolve));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves with the first request when it has come. */
  first(): Promise<Got> {
    return this.#first.promise;
  }

  /** Cuts every connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
