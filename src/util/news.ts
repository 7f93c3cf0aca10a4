/**
 * Owns waiting for the first of several things that may happen: each of them tells the same `News`, and one waits for
 * it. What was told before it was waited for is not lost, and the first wait ends at once: something may have happened
 * before anything could tell of it.
 */
export class News {
  #isTold = true;
  #wake = () => {};

  readonly tell = (): void => {
    this.#isTold = true;
    this.#wake();
  };

  /** Until the next telling, and so long at most; not at all if there was one since the last wait. */
  next(timeoutMs: number): Promise<void> {
    if (this.#isTold) {
      this.#isTold = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      // Who would tell of it may have been killed: then the caller looks by itself.
      const timer = setTimeout(() => this.#wake(), timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = () => {};
        this.#isTold = false;
        resolve();
      };
    });
  }
}
