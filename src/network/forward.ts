/**
 * Owns plain forwards: a connection to a port of the sandbox's loopback becomes one to the same port on this
 * machine's loopback, for databases and the like. The bytes are not inspected.
 */
import type { Socket } from "node:net";
import { Clients } from "./clients.ts";
import type { ProxyLimits } from "./proxy.ts";
import { Incoming } from "./reading.ts";
import { carry, connectFor, tie } from "./relay.ts";

/** Both kinds, because a service may listen on one of them only. */
const LOOPBACK_ADDRESSES = ["127.0.0.1", "::1"];

export class Forwards {
  readonly #clients: Clients;
  readonly #halfOpenMs: number;

  constructor({ connections, halfOpenMs }: ProxyLimits) {
    this.#clients = new Clients(connections);
    this.#halfOpenMs = halfOpenMs;
  }

  accept(accepted: Socket, port: number): void {
    const client = new Incoming(accepted);
    const { socket } = client;
    if (!this.#clients.add(socket)) return void socket.destroy();
    const there = connectFor(socket, { addresses: LOOPBACK_ADDRESSES, port }, () => carry(client, there));
    tie(socket, there, this.#halfOpenMs);
  }

  close(): void {
    this.#clients.close();
  }
}
