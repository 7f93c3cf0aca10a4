/**
 * Owns the way in: a leased port of this machine's loopback leads to the same port in the sandbox, so that a person sees
 * the dev server of a task. Only loopback is listened on.
 */
import { createServer, type Server, type Socket } from "node:net";
import { Clients } from "./clients.ts";
import type { ProxyLimits } from "./proxy.ts";
import { carry, tie } from "./relay.ts";

export class InwardPort {
  readonly #server: Server;
  readonly #clients: Clients;
  readonly #halfOpenMs: number;

  private constructor({ connections, halfOpenMs }: ProxyLimits) {
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
    this.#clients = new Clients(connections);
    this.#halfOpenMs = halfOpenMs;
  }

  /** `connect` gives a connection to the port in the sandbox. Undefined where another program has the port out here. */
  static async open(
    port: number,
    connect: (port: number) => Promise<Socket>,
    limits: ProxyLimits,
  ): Promise<InwardPort | undefined> {
    const inward = new InwardPort(limits);
    const server = inward.#server;
    server.on("connection", (client) => void inward.#lead(client, () => connect(port)));
    const isListening = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen({ port, host: "127.0.0.1", exclusive: true }, () => resolve(true));
    });
    return isListening ? inward : undefined;
  }

  close(): void {
    this.#server.close();
    this.#clients.close();
  }

  async #lead(client: Socket, connect: () => Promise<Socket>): Promise<void> {
    if (!this.#clients.add(client)) return void client.destroy();
    // Undefined while nothing listens in there.
    const inside = await connect().catch(() => undefined);
    if (!inside || client.destroyed) {
      inside?.destroy();
      client.destroy();
      return;
    }
    inside.allowHalfOpen = true;
    inside.setNoDelay(true);
    tie(client, inside, this.#halfOpenMs);
    carry(client, inside);
    carry(inside, client);
  }
}
