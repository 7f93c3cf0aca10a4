/**
 * Owns what a window that comes later is shown: the last screenful with all its colours, and before it the modes that
 * the program had switched on by then. The rest of a sequence whose beginning is gone is left out.
 */
import { TerminalModes } from "./terminal-modes.ts";

const MAX_BYTES = 64 * 1024;

export class Replay {
  /** Where what is kept begins. */
  readonly #before = new TerminalModes();
  #kept = Buffer.alloc(0);

  add(chunk: Buffer): void {
    const all = Buffer.concat([this.#kept, chunk]);
    let from = Math.max(0, all.length - MAX_BYTES);
    this.#before.take(all.subarray(0, from));
    if (this.#before.isInSequence) {
      const rest = all.subarray(from);
      from += this.#before.takeSequence(rest) || rest.length;
    }
    this.#kept = Buffer.from(all.subarray(from));
  }

  bytes(): Buffer {
    return Buffer.concat([Buffer.from(this.#before.on(), "latin1"), this.#kept]);
  }

  /** The modes as they are now. */
  modes(): TerminalModes {
    const now = this.#before.copy();
    now.take(this.#kept);
    return now;
  }
}
