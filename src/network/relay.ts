/**
 * Owns the bytes between two connections, and the end of both.
 *
 * relay-1 When one side ends, so does the other: an end is passed on as an end, and an error as an error. An
 *    end that is not answered is waited for only for a limited time.
 */
import { connect, type Socket } from "node:net";
import { type Incoming, inTurns, type Take } from "./reading.ts";

export interface Destination {
  /** Tried one after the other, as a browser does: the next one if one does not answer soon. */
  readonly addresses: readonly string[];
  readonly port: number;
}

/** How long to wait for one address before the next one is tried. */
const NEXT_ADDRESS_MS = 2000;

/** Connects, and passes everything that arrives on to `client`, after what `onConnect` writes to it. */
export function connectFor(
  client: Socket,
  { addresses, port }: Destination,
  onConnect: (there: Socket) => void,
): Socket {
  const there: Socket = connect({
    // The name is not needed any more: `lookup` only passes several addresses at once.
    host: "checked",
    lookup: (_name, _options, done) => done(null, addresses.map(asLookup)),
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    allowHalfOpen: true,
    onread: inTurns(() => there, sendingTo(client)),
  });
  there.setNoDelay(true);
  there.once("connect", () => onConnect(there));
  return there;
}

/** Passes everything from one side on to the other. */
export function carry(from: Incoming, to: Socket): void {
  from.readBy(sendingTo(to));
}

function sendingTo(to: Socket): Take {
  return (bytes, done) => void to.write(bytes, done);
}

/** An end or a failure of one side ends the other. Other code carries the bytes. */
export function tie(one: Socket, other: Socket, halfOpenMs: number): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on("error", () => from.destroy());
    from.once("end", () => {
      to.end();
      // After a side has ended, Node does not report anything more about it, not even that it is gone.
      to.setTimeout(halfOpenMs, () => {
        from.resetAndDestroy();
        to.resetAndDestroy();
      });
    });
    // A side that ended normally is closed while the other still writes what came from it. A side that broke
    // off must not look like an end to the other, which would take half an answer for all of it.
    from.once("close", () => {
      if (!from.readableEnded || !from.writableFinished) to.resetAndDestroy();
    });
  }
}

function asLookup(address: string): { address: string; family: number } {
  return { address, family: address.includes(":") ? 6 : 4 };
}
