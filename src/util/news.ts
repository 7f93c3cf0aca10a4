/**
 * Owns waiting for the first of several things that may happen. All of them notify the same `News`, and one
 * caller waits for it. A notification that came before the wait is not lost. The first wait ends at once,
 * because something may have happened before anything could notify.
 */
export class News {
  #isTold = true;
  #wake = () => {};

  readonly tell = (): void => {
    this.#isTold = true;
    this.#wake();
  };

  /**
   * Waits until the next notification, but no longer than this time. Returns at once if there was one since
   * the last wait.
   */
  next(timeoutMs: number): Promise<void> {
    if (this.#isTold) {
      this.#isTold = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      // The process that would notify may have been killed. Then the caller looks by itself.
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
