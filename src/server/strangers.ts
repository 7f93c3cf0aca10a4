/**
 * Owns the connections that have not shown a good token yet. They are kept so few that a new connection
 * always finds room: if there is one too many, the one that has been silent for longest is closed.
 */
import type { Socket } from "node:net";

/** A crowd of honest clients that come at the same moment is not one too many. */
const MAX_STRANGERS = 512;

export class Strangers {
  /** In the order in which they came. */
  readonly #sockets = new Set<Socket>();

  enter(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    if (this.#sockets.size <= MAX_STRANGERS) return;
    const [oldest] = this.#sockets;
    if (!oldest) return;
    this.#sockets.delete(oldest);
    oldest.destroy();
  }

  /** It has shown a token: it may stay as long as any other, between two requests and on its event stream. */
  leave(socket: Socket): void {
    this.#sockets.delete(socket);
  }
}
