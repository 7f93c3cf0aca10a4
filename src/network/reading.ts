/**
 * Owns how a connection is read: into two buffers that take turns, and grow while they are filled. Most
 * connections are small, and for large ones this costs half as much as a new buffer for each piece. Bytes
 * that were not taken yet are never overwritten: while both buffers wait to be taken, nothing is read
 * (clients-1).
 */
import { type OnReadOpts, Socket, type SocketConstructorOpts } from "node:net";

/** Takes the bytes that arrived. They are valid until `done` is called, and no longer. */
export type Take = (bytes: Buffer, done: () => void) => void;

const FIRST_BUFFER = 16 * 1024;
const MAX_BUFFER = 512 * 1024;

/** For a socket that is created with it. */
export function inTurns(socket: () => Socket, take: Take): OnReadOpts {
  const buffers = [Buffer.allocUnsafeSlow(FIRST_BUFFER), Buffer.allocUnsafeSlow(FIRST_BUFFER)];
  let turn = 0;
  let untaken = 0;
  let isFilled = false;
  const done = () => {
    untaken -= 1;
    if (untaken === 1) socket().resume();
  };
  return {
    buffer: () => {
      turn = 1 - turn;
      const size = buffers[turn]?.length ?? 0;
      if (isFilled && size < MAX_BUFFER)
        buffers[turn] = Buffer.allocUnsafeSlow(Math.min(size * 4, MAX_BUFFER));
      return buffers[turn] as Buffer;
    },
    callback: (count, buffer) => {
      isFilled = count === buffer.length;
      untaken += 1;
      take((buffer as Buffer).subarray(0, count), done);
      return untaken < 2;
    },
  };
}

interface Held {
  readonly bytes: Buffer;
  readonly done: () => void;
}

/**
 * A connection that another side opened. Node reads into given buffers only for sockets that it connects. So
 * the handle of the accepted socket (`_handle`) moves to a new socket, and the accepted one is not used any
 * more.
 */
export class Incoming {
  readonly socket: Socket;
  /**
   * Undefined: what arrives is held, up to what the buffers take. Without reading, its end would not be
   * noticed.
   */
  #take: Take | undefined;
  #held: Held[] = [];

  constructor(accepted: Socket) {
    const handle = takeHandle(accepted);
    const onread = inTurns(
      () => this.socket,
      (bytes, done) => (this.#take ? this.#take(bytes, done) : void this.#held.push({ bytes, done })),
    );
    this.socket = new Socket({ handle, onread, allowHalfOpen: true } as SocketConstructorOpts);
    this.socket.setNoDelay(true);
    // It was closed before it was accepted.
    if (handle === undefined) this.socket.destroy();
  }

  /** Passes what was held and what arrives to `take`. */
  readBy(take: Take): void {
    this.#take = take;
    for (const { bytes, done } of this.#held.splice(0)) take(bytes, done);
  }

  /** From now on, what arrives waits for the next `readBy`. */
  hold(): void {
    this.#take = undefined;
  }
}

function takeHandle(accepted: Socket): object | undefined {
  const owner = accepted as unknown as { _handle: object | null };
  const handle = owner._handle ?? undefined;
  owner._handle = null;
  return handle;
}
