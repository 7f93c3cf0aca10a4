/**
 * Owns the program's side of a terminal: keys go to it in order, also those that were pressed before it could
 * be reached, and its terminal has the size that was set last.
 */
import type { Writable } from "node:stream";
import { resizeTerminal, type TerminalSize, terminalSize } from "../process/index.ts";
import { MAX_FRAME_BYTES } from "./terminal-frames.ts";

export class TerminalProgram {
  #pid = 0;
  #input: Writable | undefined;
  #early = Buffer.alloc(0);
  #size: TerminalSize = terminalSize(0, 0);
  #resizing: Promise<void> = Promise.resolve();

  /** It runs. */
  connect(pid: number, input: Writable | null): void {
    this.#pid = pid;
    this.#input = input ?? undefined;
    this.#input?.write(this.#early);
    this.#resize();
  }

  press(keys: Buffer): void {
    if (this.#input) this.#input.write(keys);
    else this.#early = Buffer.concat([this.#early, keys]).subarray(0, MAX_FRAME_BYTES);
  }

  fit(size: TerminalSize): void {
    if (size.columns === this.#size.columns && size.rows === this.#size.rows) return;
    this.#size = size;
    this.#resize();
  }

  #resize(): void {
    if (this.#pid === 0) return;
    // One after the other, and each with the size that is the latest by then.
    this.#resizing = this.#resizing.then(() => resizeTerminal(this.#pid, this.#size)).catch(() => {});
  }
}
