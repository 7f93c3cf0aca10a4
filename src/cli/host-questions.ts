/**
 * Owns the question whether a task may reach a host that it was just kept from: on the terminal from which a person
 * looks on.
 *
 * Nothing of the task is shown between the question and its answer, and what was typed before it counts for nothing: the
 * task writes to the same screen, and could have it mean something else.
 */
import { createInterface, type Interface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { whyNoHost } from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import { printable } from "../util/index.ts";
import { canAsk } from "./ask.ts";
import { note } from "./screen.ts";

/** A terminal says nothing of what was typed and not read: it comes at once when it is read, and then no more does. */
const TYPED_BEFORE_MS = 100;

export interface AskedAbout {
  readonly session: string;
  readonly user?: string;
  readonly request: string | null;
}

export class HostQuestions {
  readonly #dispatcher: Dispatcher;
  readonly #about: AskedAbout;
  #lines: Interface | undefined;

  constructor(dispatcher: Dispatcher, about: AskedAbout) {
    this.#dispatcher = dispatcher;
    this.#about = about;
  }

  /** Returns when it is answered, or when nobody can answer any more. */
  async ask(host: string, away: AbortSignal): Promise<void> {
    // What can't be named can't be allowed.
    if (whyNoHost(host) !== undefined || !canAsk()) return;
    const lines = await this.#open();
    const over = new AbortController();
    const onAway = () => over.abort();
    away.addEventListener("abort", onAway, { once: true });
    try {
      process.stderr.write(`let this task reach ${printable(host)} until it ends? [y/N] `);
      const answer = await Promise.race([nextLine(lines, over.signal), this.#taskOver(over.signal)]);
      if (answer === undefined) process.stderr.write("\n");
      else if (/^\s*y(es)?\s*$/i.test(answer)) await this.#allow(host);
    } finally {
      over.abort();
      away.removeEventListener("abort", onAway);
    }
  }

  close(): void {
    if (!this.#lines) return;
    this.#lines.close();
    process.stdin.pause();
  }

  async #open(): Promise<Interface> {
    this.#lines ??= createInterface({ input: process.stdin });
    this.#lines.resume();
    await sleep(TYPED_BEFORE_MS);
    return this.#lines;
  }

  async #allow(host: string): Promise<void> {
    const { session, user } = this.#about;
    const scope = user === undefined ? {} : { user };
    await this.#dispatcher
      .allowHost(session, host, scope)
      .catch((error: unknown) => note(error instanceof Error ? printable(error.message) : String(error)));
  }

  /** Then there is nothing left to allow. */
  async #taskOver(stop: AbortSignal): Promise<undefined> {
    const { session, user, request } = this.#about;
    const scope = user === undefined ? {} : { user };
    const ears = await this.#dispatcher.listen(session, scope);
    try {
      for (; !stop.aborted; await ears.next()) {
        const { task } = await this.#dispatcher.show(session, scope);
        if (task?.request !== request || task.outcome !== null) return;
      }
    } finally {
      ears.close();
    }
  }
}

/** Undefined: the signal came first, or the input has ended. */
function nextLine(lines: Interface, stop: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const onLine = (line: string) => resolve(line);
    const onEnd = () => resolve(undefined);
    lines.once("line", onLine).once("close", onEnd);
    stop.addEventListener("abort", () => {
      lines.off("line", onLine).off("close", onEnd);
      resolve(undefined);
    });
  });
}
