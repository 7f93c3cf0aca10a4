/**
 * Owns what is recorded of the output of a process: an excerpt, without the values of variables.
 */
import type { OutputStream } from "../agent/index.ts";
import { WholeValues } from "../redaction/index.ts";
import { Excerpt } from "../session/index.ts";
export class Written {
  readonly #known: ConstructorParameters<typeof WholeValues>[0];
  readonly #excerpt = new Excerpt();
  // One for each stream: text of the other stream in the middle of a value would hide the value.
  readonly #whole: Readonly<Record<OutputStream, WholeValues>>;

  constructor(known: ConstructorParameters<typeof WholeValues>[0]) {
    this.#known = known;
    this.#whole = { stdout: new WholeValues(known), stderr: new WholeValues(known) };
  }

  add(chunk: Buffer, stream: OutputStream): void {
    this.#excerpt.add(this.#whole[stream].push(chunk));
  }

  excerpt(): string {
    for (const held of Object.values(this.#whole)) this.#excerpt.add(held.end());
    return this.#excerpt.text(this.#known());
  }
}
