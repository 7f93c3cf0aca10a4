/**
 * Owns what a window that opens later is shown: the last screenful with all its colours, and before it the
 * modes that the program had switched on by then. A sequence whose beginning is gone is left out.
 */
import { TerminalFilter } from "./terminal-filter.ts";
import { TerminalModes } from "./terminal-modes.ts";

const MAX_BYTES = 64 * 1024;

export class Replay {
  /** Where the kept part begins. */
  readonly #before = new TerminalModes();
  #kept = Buffer.alloc(0);
  #isAsked = false;

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

  /**
   * For the next window. Only the first window is asked the program's questions: later the program no longer
   * waits for the answers.
   */
  bytes(): Buffer {
    const kept = this.#isAsked ? new TerminalFilter({ mayAsk: false }).pass(this.#kept) : this.#kept;
    this.#isAsked = true;
    return Buffer.concat([Buffer.from(this.#before.on(), "latin1"), kept]);
  }

  /** The modes as they are now. */
  modes(): TerminalModes {
    const now = this.#before.copy();
    now.take(this.#kept);
    return now;
  }
}
