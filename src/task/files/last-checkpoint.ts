/**
 * Owns whether a task's last checkpoint still matches its files. Everything that can write there is a writer:
 * a process from its start to its end, except while it is frozen. Without a sandbox, processes that it
 * started may live on until all of the task's processes are ended.
 *
 * checkpoint-2 The last checkpoint counts only if there was no writer while it was taken, and has been none
 *    since.
 */
import type { Checkpoint } from "./checkpoint.ts";

export interface Writer {
  /** The writer is frozen. */
  rest(): void;
  goOn(): void;
  /** The writer has ended. */
  end(): void;
}

export class LastCheckpoint {
  readonly #writers = new Set<Writer>();
  readonly #canStray: boolean;
  #hasStrays = false;
  #taken: Checkpoint | undefined;
  #counts = false;

  /** `canStray`: the children of a process can outlive it. */
  constructor({ canStray }: { readonly canStray: boolean }) {
    this.#canStray = canStray;
  }

  /** Undefined: there is none, or a writer may have changed the files since. */
  get current(): Checkpoint | undefined {
    return this.#counts ? this.#taken : undefined;
  }

  async take(make: () => Promise<Checkpoint>): Promise<Checkpoint> {
    this.#taken = undefined;
    this.#counts = this.#writers.size === 0 && !this.#hasStrays;
    this.#taken = await make();
    return this.#taken;
  }

  /** Call it before starting a process that can write. */
  beginWriter(): Writer {
    let isGone = false;
    this.#hasStrays = this.#canStray;
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

  /** Call it when all processes of the task have been ended. */
  endStrays(): void {
    this.#hasStrays = false;
  }
}
