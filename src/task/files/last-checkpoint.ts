/**
 * Owns whether a task's last checkpoint still has its files as they are. Whatever can write there is a writer: a process
 * from its start to its end, but for the time in which it stands still.
 *
 * T13 The last checkpoint counts only if no writer was there while it was taken, and none has been there since.
 */
import type { Checkpoint } from "./checkpoint.ts";

export interface Writer {
  /** It stands still. */
  rest(): void;
  goOn(): void;
  /** It is gone. */
  end(): void;
}

export class LastCheckpoint {
  readonly #writers = new Set<Writer>();
  #taken: Checkpoint | undefined;
  #counts = false;

  /** Undefined: there is none, or something may have written since. */
  get current(): Checkpoint | undefined {
    return this.#counts ? this.#taken : undefined;
  }

  async take(make: () => Promise<Checkpoint>): Promise<Checkpoint> {
    this.#taken = undefined;
    this.#counts = this.#writers.size === 0;
    this.#taken = await make();
    return this.#taken;
  }

  /** Something is about to run that can write. */
  beginWriter(): Writer {
    let isGone = false;
    const writer: Writer = {
      rest: () => void this.#writers.delete(writer),
      goOn: () => {
        if (isGone) return;
        this.#writers.add(writer);
        this.#counts = false;
      },
      end: () => {
        isGone = true;
        writer.rest();
      },
    };
    writer.goOn();
    return writer;
  }
}
