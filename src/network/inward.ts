/**
 * Owns the way in: a leased port on this machine's loopback leads to the same port in the sandbox, so that a
 * person sees the dev server of a task. It listens on loopback only.
 */
import { createServer, type Server, type Socket } from "node:net";
import { Clients } from "./clients.ts";
import type { ProxyLimits } from "./proxy.ts";
import { Incoming } from "./reading.ts";
import { carry, tie } from "./relay.ts";

export class InwardPort {
  readonly #server: Server;
  readonly #clients: Clients;
  readonly #halfOpenMs: number;

  private constructor({ connections, halfOpenMs }: ProxyLimits) {
    this.#server = createServer();
    this.#clients = new Clients(connections);
    this.#halfOpenMs = halfOpenMs;
  }

  /**
   * `connect` returns a connection to the port in the sandbox. Undefined if another program uses the port on
   * this machine.
   */
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

  async #lead(accepted: Socket, connect: () => Promise<Socket>): Promise<void> {
    const client = new Incoming(accepted);
    if (!this.#clients.add(client.socket)) return void client.socket.destroy();
    // Undefined while nothing listens in the sandbox.
    const connected = await connect().catch(() => undefined);
    if (!connected || client.socket.destroyed) {
      connected?.destroy();
      client.socket.destroy();
      return;
    }
    const inside = new Incoming(connected);
    tie(client.socket, inside.socket, this.#halfOpenMs);
    carry(client, inside.socket);
    carry(inside, client.socket);
  }
}
