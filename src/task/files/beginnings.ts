/**
 * Owns the order between an action and what Holdfast itself begins in a task's files: a process that it
 * starts, a file that it writes for a tool. Processes that run can be frozen; these two can only wait.
 *
 * gate-8 While an action is prepared and done, the task's processes stand still, and nothing begins in its
 *    files.
 */
export class Beginnings {
  readonly #open = new Set<Promise<unknown>>();
  #pause: Promise<void> | undefined;

  /** Starts a process or writes a file, after the action that is at work. */
  async begin<T>(work: () => Promise<T>): Promise<T> {
    while (this.#pause) await this.#pause;
    const begun = work();
    this.#open.add(begun);
    return begun.finally(() => this.#open.delete(begun));
  }

  /** Waits for what has begun, and lets nothing more begin until this is disposed of. One at a time. */
  async pause(): Promise<Disposable> {
    while (this.#pause) await this.#pause;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pause = promise;
    await Promise.allSettled(this.#open);
    return {
      [Symbol.dispose]: () => {
        if (this.#pause === promise) this.#pause = undefined;
        resolve();
      },
    };
  }
}
