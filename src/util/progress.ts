/**
 * Owns the progress reports of long operations: what each does now, and how much of it is done. The code that does
 * the work counts with a `Meter`, which reports at once and then at most a few times a second, so counting
 * costs nothing.
 */
import { systemClock } from "./clock.ts";
import { present } from "./present.ts";

/** What a long operation does now, and how much of it is done. */
export interface Progress {
  /** In a few words, for example "checking out the base". */
  readonly what: string;
  /** The number of files that are done. */
  readonly files?: number;
  /** The number of all files, if it is known. */
  readonly ofFiles?: number;
  /** The number of bytes that are done. */
  readonly bytes?: number;
  /** The number of all bytes, if it is known. */
  readonly ofBytes?: number;
}

/** Gets the progress of long operations. */
export type OnProgress = (step: Progress) => void;

const SPEAK_MS = 100;

export class Meter {
  readonly #onProgress: OnProgress | undefined;
  readonly #what: string;
  readonly #of: { readonly ofFiles?: number; readonly ofBytes?: number };
  readonly #nowMs: () => number;
  #files: number | undefined;
  #bytes: number | undefined;
  #spokeAtMs: number;

  /** Without a listener it does nothing. */
  constructor(
    onProgress: OnProgress | undefined,
    what: string,
    of: { readonly ofFiles?: number; readonly ofBytes?: number } = {},
    nowMs: () => number = systemClock.monotonicMs,
  ) {
    this.#onProgress = onProgress;
    this.#what = what;
    this.#of = of;
    this.#nowMs = nowMs;
    this.#spokeAtMs = nowMs();
    this.#speak();
  }

  add({ files = 0, bytes = 0 }: { readonly files?: number; readonly bytes?: number }): void {
    if (!this.#onProgress) return;
    if (files > 0) this.#files = (this.#files ?? 0) + files;
    if (bytes > 0) this.#bytes = (this.#bytes ?? 0) + bytes;
    const nowMs = this.#nowMs();
    if (nowMs - this.#spokeAtMs < SPEAK_MS) return;
    this.#spokeAtMs = nowMs;
    this.#speak();
  }

  /** Yields the same bytes and counts them as they pass. */
  async *counting<T extends Uint8Array>(chunks: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const chunk of chunks) {
      this.add({ bytes: chunk.length });
      yield chunk;
    }
  }

  #speak(): void {
    this.#onProgress?.({
      what: this.#what,
      ...this.#of,
      ...present({ files: this.#files, bytes: this.#bytes }),
    });
  }
}

/** The same steps, with the name of the larger work that they are part of. */
export function saying(whole: string, onProgress: OnProgress | undefined): OnProgress | undefined {
  return onProgress && ((step) => onProgress({ ...step, what: `${whole}: ${step.what}` }));
}

/** One step that has nothing to count. */
export function tellStep(onProgress: OnProgress | undefined, what: string): void {
  onProgress?.({ what });
}
