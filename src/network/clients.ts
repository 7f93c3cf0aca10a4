/**
 * Owns the connections that clients have open to us, so that they are limited, and closed when we close.
 *
 * clients-1 The resources of a client are bounded: how many connections, how long a head, how long until the
 *    head is there.
 */
import type { Socket } from "node:net";

export class Clients {
  readonly #open = new Set<Socket>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Whether there is room for it. */
  add(client: Socket): boolean {
    client.on("error", () => client.destroy());
    this.#open.add(client);
    client.once("close", () => this.#open.delete(client));
    return this.#open.size <= this.#max;
  }

  close(): void {
    for (const client of this.#open) client.destroy();
  }
}
