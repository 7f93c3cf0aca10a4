/**
 * Owns the feeding of messages to an agent, by whichever way: it asks for them at the door, or they are written to its
 * standard input, or typed into its terminal.
 *
 * Y3 A message that was asked for is handed out until the agent has said that it has it. One that was written is
 *    never written again: if nobody knows whether it arrived, that is on record, and shown.
 */
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "../../agent/index.ts";
import { isHoldfastError } from "../../contract/index.ts";
import type { Session } from "../../session/index.ts";
import { type Clock, deadline } from "../../util/index.ts";
import type { Named } from "./named.ts";

export class Feed {
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

  /** What was written before a crash or the agent's end, with no word whether it arrived. */
  async settleUnclear(): Promise<void> {
    for (const { message, isHanded } of this.#session.state.unread)
      if (isHanded) await this.#enter(message, { certain: false });
  }

  /** There may be something new to hand out. */
  wake(): void {
    for (const waiter of this.#waiters) waiter();
    // A failure to record is the session's end, and is seen there; or it passes, and the next try may succeed.
    this.#writing = this.#writing.then(() => this.#write()).catch(() => {});
  }

  async next(waitMs: number, gone: AbortSignal): Promise<Message | undefined> {
    const patience = deadline(this.#clock, waitMs);
    for (;;) {
      // What was written or typed is not handed out besides.
      const first = this.#session.state.unread.find(({ isHanded }) => !isHanded);
      if (first) return this.#named.message(first.message);
      const { leftMs } = patience;
      if (leftMs === 0 || gone.aborted) return undefined;
      await this.#news(leftMs, gone);
    }
  }

  /** The agent has it. Said twice, it counts once. */
  async entered(message: string): Promise<void> {
    const { unread, openTurn } = this.#session.state;
    if (!unread.some((one) => one.message === message)) return;
    await this.#enter(message, { certain: true, ...(openTurn && { turn: openTurn.turn }) });
  }

  async #enter(message: string, how: { readonly certain: boolean; readonly turn?: number }): Promise<void> {
    await this.#session.append("message_entered_context", { message, ...how }).catch((error: unknown) => {
      // Two said it at the same time.
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

  /** What somebody types into its terminal from afar is on record as a message of theirs. */
  async type({ message, from, text }: Omit<Message, "at">, type: () => Promise<void>): Promise<void> {
    const turn = this.#session.state.openTurn?.turn;
    // At once, so that nothing else hands it out.
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
      // An agent that reads no more is given no more.
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
    // The agent says how long it waits for a message; none may ever come.
    await sleep(waitMs, undefined, { signal: stop.signal }).catch(() => {});
    gone.removeEventListener("abort", wake);
    this.#waiters.delete(wake);
  }
}

/** Whether the other side has taken it. */
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
