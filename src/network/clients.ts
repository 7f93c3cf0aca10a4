/**
 * Owns the connections that somebody has open to us, so that they are bounded, and gone when we close.
 *
 * V12 What a client can hold is bounded: how many connections, how long a head, how long until it is there.
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
    // What one side has said to its end may still be answered.
    client.allowHalfOpen = true;
    client.setNoDelay(true);
    client.on("error", () => client.destroy());
    this.#open.add(client);
    client.once("close", () => this.#open.delete(client));
    return this.#open.size <= this.#max;
  }

  close(): void {
    for (const client of this.#open) client.destroy();
  }
}
