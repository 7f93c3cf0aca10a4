/**
 * Owns the lines that a person types while they watch a task: each answers the open question, or else is used
 * as the verb decides. What was typed before a question never counts as its answer: the task writes to the
 * same screen, and could give what the person types another meaning.
 */
import { createInterface, type Interface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * A terminal does not report text that was typed but not yet read. It arrives at once when reading begins,
 * and then nothing more does.
 */
const TYPED_BEFORE_MS = 100;

export class TypedLines {
  readonly #otherwise: (line: string) => void;
  #lines: Interface | undefined;
  #answer: ((line: string | undefined) => void) | undefined;

  /** Reads nothing before the first question. */
  constructor(otherwise: (line: string) => void = () => {}) {
    this.#otherwise = otherwise;
  }

  /** Reads from now on, with or without a question. */
  open(): void {
    this.#lines ??= createInterface({ input: process.stdin })
      .on("line", (line) => {
        if (this.#answer) this.#answer(line);
        else this.#otherwise(line);
      })
      .on("close", () => this.#answer?.(undefined));
  }

  /**
   * Undefined: it was stopped first, or the input has ended. `until` resolves when there is nothing left to
   * answer.
   */
  async ask(question: string, stop: AbortSignal, until: Promise<unknown>): Promise<string | undefined> {
    this.open();
    await sleep(TYPED_BEFORE_MS);
    if (stop.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const onStop = () => resolve(undefined);
    stop.addEventListener("abort", onStop, { once: true });
    until.then(onStop, onStop);
    process.stderr.write(question);
    this.#answer = resolve;
    try {
      const answer = await promise;
      if (answer === undefined) process.stderr.write("\n");
      return answer;
    } finally {
      this.#answer = undefined;
      stop.removeEventListener("abort", onStop);
    }
  }

  close(): void {
    if (!this.#lines) return;
    this.#lines.close();
    process.stdin.pause();
  }
}
