/**
 * Owns plain forwards: a connection to a port of the sandbox's loopback becomes one to the same port of this machine's,
 * for databases and the like. The bytes are not looked at.
 */
import type { Socket } from "node:net";
import { Clients } from "./clients.ts";
import type { ProxyLimits } from "./proxy.ts";
import { carry, connectFor, tie } from "./relay.ts";

/** Either kind, because a service may listen on one of them only. */
const LOOPBACK_ADDRESSES = ["127.0.0.1", "::1"];

export class Forwards {
  readonly #clients: Clients;
  readonly #halfOpenMs: number;

  constructor({ connections, halfOpenMs }: ProxyLimits) {
    this.#clients = new Clients(connections);
    this.#halfOpenMs = halfOpenMs;
  }

  accept(client: Socket, port: number): void {
    if (!this.#clients.add(client)) return void client.destroy();
    const there = connectFor(client, { addresses: LOOPBACK_ADDRESSES, port }, () => carry(client, there));
    tie(client, there, this.#halfOpenMs);
  }

  close(): void {
    this.#clients.close();
  }
}
