/**
 * Owns how many bytes of requests a session process holds at once: an agent may send many, and each may wait for minutes.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Refusal } from "../http/index.ts";

export interface Room {
  readonly bytes: number;
  /** One that does not tell its length may have so many. */
  readonly mostEach: number;
}

export class BodyRoom {
  readonly #mostEach: number;
  #left: number;

  constructor({ bytes, mostEach }: Room) {
    this.#left = bytes;
    this.#mostEach = mostEach;
  }

  /** Until its answer is over. Fails with 503, which agents try again after. */
  hold({ headers }: IncomingMessage, response: ServerResponse): void {
    const isOpen = headers["transfer-encoding"] !== undefined;
    const bytes = isOpen ? this.#mostEach : Number(headers["content-length"] ?? 0);
    if (bytes > this.#left)
      throw new Refusal(
        503,
        "too_many_requests",
        "the requests that are under way are too large for one more",
      );
    this.#left -= bytes;
    response.once("close", () => {
      this.#left += bytes;
    });
  }
}
