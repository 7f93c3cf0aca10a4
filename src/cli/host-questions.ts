/**
 * Owns the question whether a task may reach a host that was just refused to it, asked on the terminal of a
 * person who watches the task. No output of the task is shown between the question and its answer, and what
 * was typed before the question is not taken as its answer: the task writes to the same screen, and could
 * give what the person types another meaning.
 */
import { whyNoHost } from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import { printable } from "../util/index.ts";
import { canAsk } from "./ask.ts";
import { note } from "./screen.ts";
import type { TypedLines } from "./typed-lines.ts";

export interface AskedAbout {
  readonly session: string;
  readonly user?: string;
  readonly request: string | null;
}

export class HostQuestions {
  readonly #dispatcher: Dispatcher;
  readonly #about: AskedAbout;
  readonly #typed: TypedLines;

  constructor(dispatcher: Dispatcher, about: AskedAbout, typed: TypedLines) {
    this.#dispatcher = dispatcher;
    this.#about = about;
    this.#typed = typed;
  }

  /** Returns when the question is answered, or when no answer can come any more. */
  async ask(host: string, away: AbortSignal): Promise<void> {
    // A host without a name can't be allowed by name.
    if (whyNoHost(host) !== undefined || !canAsk()) return;
    const over = new AbortController();
    try {
      const question = `let this task reach ${printable(host)} until it ends? [y/N] `;
      const answer = await this.#typed.ask(question, away, this.#taskOver(over.signal));
      if (answer !== undefined && /^\s*y(es)?\s*$/i.test(answer)) await this.#allow(host);
    } finally {
      over.abort();
    }
  }

  async #allow(host: string): Promise<void> {
    const { session, user } = this.#about;
    const scope = user === undefined ? {} : { user };
    await this.#dispatcher
      .allowHost(session, host, scope)
      .catch((error: unknown) => note(error instanceof Error ? printable(error.message) : String(error)));
  }

  /** The task has ended, so there is nothing left to allow. */
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
