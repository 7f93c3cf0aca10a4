/**
 * Owns the bytes between two connections, and the end of both.
 *
 * V11 When one side is gone, so is the other: what ended is passed on as an end, what broke breaks the other, and an
 *     end that is not answered is not waited for without limit.
 */
import { connect, type Socket } from "node:net";

export interface Destination {
  /** Tried as a browser would: the next one, when one does not answer at once. */
  readonly addresses: readonly string[];
  readonly port: number;
}

/** How long one address is waited for before the next one is tried. */
const NEXT_ADDRESS_MS = 2000;
const FIRST_BUFFER = 16 * 1024;
const MAX_BUFFER = 256 * 1024;
/** When so much of one side waits to be sent to the other, no more is read. */
const MAX_UNSENT = 1024 * 1024;

/**
 * Connects, and passes all that comes from there on to `client`, behind what `onConnect` writes to it. Two buffers take
 * turns, and grow while they are filled: most connections are small, and a large download costs half as much as with
 * a new buffer for each piece.
 */
export function connectFor(
  client: Socket,
  { addresses, port }: Destination,
  onConnect: (there: Socket) => void,
): Socket {
  const buffers = [Buffer.allocUnsafeSlow(FIRST_BUFFER), Buffer.allocUnsafeSlow(FIRST_BUFFER)];
  let turn = 0;
  let unwritten = 0;
  let isFilled = false;
  const there = connect({
    // The name is not needed any more: `lookup` is only there to give several addresses at once.
    host: "checked",
    lookup: (_name, _options, done) => done(null, addresses.map(asLookup)),
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    allowHalfOpen: true,
    onread: {
      buffer: () => {
        turn = 1 - turn;
        const size = buffers[turn]?.length ?? 0;
        if (isFilled && size < MAX_BUFFER) buffers[turn] = Buffer.allocUnsafeSlow(size * 4);
        return buffers[turn] as Buffer;
      },
      callback: (bytes, buffer) => {
        isFilled = bytes === buffer.length;
        unwritten += 1;
        client.write((buffer as Buffer).subarray(0, bytes), () => {
          unwritten -= 1;
          if (unwritten === 1) there.resume();
        });
        // With both of them on their way, there is none to read into.
        return unwritten < 2;
      },
    },
  });
  there.setNoDelay(true);
  there.once("connect", () => onConnect(there));
  return there;
}

/** Passes all that comes from one side on to the other. */
export function carry(from: Socket, to: Socket): void {
  from.on("data", (chunk: Buffer) => sendOn(chunk, from, to));
  from.resume();
}

/**
 * What comes in one go is sent in one go. A connection that was accepted is read in pieces of 64 KB, and to send each of
 * them alone costs a large upload a quarter more.
 */
export function sendOn(chunk: Buffer, from: Socket, to: Socket): void {
  if (to.writableCorked === 0) {
    to.cork();
    setImmediate(() => to.uncork());
  }
  to.write(chunk);
  if (to.writableLength < MAX_UNSENT || from.isPaused()) return;
  from.pause();
  to.once("drain", () => from.resume());
}

/** Ends and failures of either are those of both. The bytes are for others to carry. */
export function tie(one: Socket, other: Socket, halfOpenMs: number): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on("error", () => from.destroy());
    from.once("end", () => {
      to.end();
      // Of a side that has ended nothing more is heard, not even that it is gone.
      to.setTimeout(halfOpenMs, () => {
        from.resetAndDestroy();
        to.resetAndDestroy();
      });
    });
    // One that ended as it should is closed while the other still writes what came from it. One that broke off must
    // not look like an end to the other: half an answer would be taken for all of it.
    from.once("close", () => {
      if (!from.readableEnded || !from.writableFinished) to.resetAndDestroy();
    });
  }
}

function asLookup(address: string): { address: string; family: number } {
  return { address, family: address.includes(":") ? 6 : 4 };
}
