/**
 * Owns delivering messages to an agent, in one of three ways: the agent asks for them at the door, or they
 * are written to its standard input, or typed into its terminal.
 *
 * delivery-1 A message that the agent asks for is handed out until the agent confirms it. A message that was
 *    written is never written again: if it is unknown whether it arrived, that is recorded and shown.
 */
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "../../agent/index.ts";
import { isHoldfastError } from "../../contract/index.ts";
import type { Session } from "../../session/index.ts";
import { type Clock, deadline } from "../../util/index.ts";
import type { Named } from "./named.ts";

export class MessageDelivery {
  readonly #session: Session;
  readonly #named: Named;
  readonly #clock: Clock;
  #input: Writable | undefined;
  #writing: Promise<void> = Promise.resolve();
  #waiters = new Set<() => void>();

  constructor(session: Session, named: Named, clock: Clock) {
    this.#session = session;
    this.#named = named;
    this.#clock = clock;
  }

  /** Settles messages that were written before a crash or the agent's end and were never confirmed. */
  async settleUnclear(): Promise<void> {
    for (const { message, isHanded } of this.#session.state.unread)
      if (isHanded) await this.#enter(message, { certain: false });
  }

  /** Call it when there may be a new message to hand out. */
  wake(): void {
    for (const waiter of this.#waiters) waiter();
    // If recording fails for good, the session ends and reports that. Otherwise the next try may succeed.
    this.#writing = this.#writing.then(() => this.#write()).catch(() => {});
  }

  async next(waitMs: number, gone: AbortSignal): Promise<Message | undefined> {
    const patience = deadline(this.#clock, waitMs);
    for (;;) {
      // A message that was written or typed is not handed out as well.
      const first = this.#session.state.unread.find(({ isHanded }) => !isHanded);
      if (first) return this.#named.message(first.message);
      const { leftMs } = patience;
      if (leftMs === 0 || gone.aborted) return undefined;
      await this.#news(leftMs, gone);
    }
  }

  /** The agent confirms the message. A second confirmation changes nothing. */
  async entered(message: string): Promise<void> {
    const { unread, openTurn } = this.#session.state;
    if (!unread.some((one) => one.message === message)) return;
    await this.#enter(message, { certain: true, ...(openTurn && { turn: openTurn.turn }) });
  }

  async #enter(message: string, how: { readonly certain: boolean; readonly turn?: number }): Promise<void> {
    await this.#session.append("message_entered_context", { message, ...how }).catch((error: unknown) => {
      // Two confirmations came at the same time.
      if (!isHoldfastError(error, "invalid_data")) throw error;
    });
  }

  open(input: Writable): void {
    this.#input = input;
    this.wake();
  }

  async close(): Promise<void> {
    this.#input = undefined;
    for (const waiter of this.#waiters) waiter();
    await this.#writing;
    await this.settleUnclear();
  }

  /**
   * Text that a person types into the agent's terminal from another one is recorded as a message from them.
   */
  async type({ message, from, text }: Omit<Message, "at">, type: () => Promise<void>): Promise<void> {
    const turn = this.#session.state.openTurn?.turn;
    // Both records in one batch, so that the message is not handed out in between.
    await Promise.all([
      this.#session.append("message_received", { message, from, text }),
      this.#session.append("message_handed", { message, ...(turn !== undefined && { turn }) }),
    ]);
    await type();
    await this.#enter(message, { certain: false, ...(turn !== undefined && { turn }) });
  }

  async #write(): Promise<void> {
    for (;;) {
      const next = this.#session.state.unread.find(({ isHanded }) => !isHanded);
      const turn = this.#session.state.openTurn?.turn;
      // An agent that has stopped reading gets no more messages.
      if (!this.#input?.writable || !next || turn === undefined) return;
      const { message } = next;
      const line = JSON.stringify(await this.#named.message(message));
      const input = this.#input;
      await this.#session.append("message_handed", { message, turn });
      if (!(await written(input, `${line}\n`))) return;
      await this.entered(message);
    }
  }

  async #news(waitMs: number, gone: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const wake = () => stop.abort();
    this.#waiters.add(wake);
    gone.addEventListener("abort", wake, { once: true });
    // The agent sets how long it waits for a message, because none may ever come.
    await sleep(waitMs, undefined, { signal: stop.signal }).catch(() => {});
    gone.removeEventListener("abort", wake);
    this.#waiters.delete(wake);
  }
}

/** Whether the reader has taken the text. */
function written(input: Writable, text: string): Promise<boolean> {
  return new Promise((resolve) => {
    const onClose = () => resolve(false);
    input.once("close", onClose);
    input.write(text, (error) => {
      input.off("close", onClose);
      resolve(!error);
    });
  });
}
