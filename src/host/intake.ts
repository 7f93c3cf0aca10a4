/**
 * Owns the way in: what lies in the inbox becomes records, once each and in order, and is moved away.
 *
 * Y1 Nothing is moved away before it is on record; and what is on record and was not moved away, because we were
 *    killed in between, is known by its id. So everything enters once.
 * Y6 However many messages lie there, what is asked of the process, and tasks, get through.
 * Y2 What can't be read hurts nobody else: it is set aside, with the reason on record.
 */
import { type ErrorCode, isHoldfastError, type JsonObject } from "../contract/index.ts";
import { decodeEnvelope, type Envelope, idOf, type Maildir } from "../mail/index.ts";
import { MAX_ARRIVED, type Session } from "../session/index.ts";

export interface Commands {
  interrupt(): void;
  pause(): void;
  cancel(request: string): Promise<void>;
}

/** What is refused for one of these may be taken in later: it stays where it is. */
const LATER: readonly ErrorCode[] = ["inbox_full", "queue_full", "illegal_transition"];

export class Intake {
  readonly #session: Session;
  readonly #inbox: Maildir;
  readonly #commands: Commands;
  #running: Promise<void> | undefined;
  #isAskedAgain = false;

  constructor(session: Session, inbox: Maildir, commands: Commands) {
    this.#session = session;
    this.#inbox = inbox;
    this.#commands = commands;
  }

  /** One at a time, however often the bell rings; a ring meanwhile means one look more. */
  look(): Promise<void> {
    this.#isAskedAgain = true;
    this.#running ??= this.#lookUntilQuiet();
    return this.#running;
  }

  async #lookUntilQuiet(): Promise<void> {
    try {
      while (this.#isAskedAgain) {
        this.#isAskedAgain = false;
        await this.#lookOnce();
      }
    } finally {
      // In the same moment as the last question: nobody is told of a look that is over.
      this.#running = undefined;
    }
  }

  async #lookOnce(): Promise<void> {
    const names = await this.#inbox.waiting();
    const isAsked = (name: string) => idOf(name).startsWith("ask_");
    const full = new Set<Envelope["kind"]>();
    // Y6: what is asked of us comes first, however much lies before it.
    const inOrder = [...names.filter(isAsked), ...names.filter((name) => !isAsked(name))];
    // Y1: never more at once than the fold remembers by their ids.
    while (inOrder.length > 0) await this.#takeIn(inOrder.splice(0, MAX_ARRIVED), full);
  }

  /** `full` are the kinds for which there is no room now; what comes behind them waits, too. */
  async #takeIn(names: readonly string[], full: Set<Envelope["kind"]>): Promise<void> {
    const done: string[] = [];
    const tasks = new Set<string>();
    const recording: Promise<void>[] = [];
    for (const name of names) {
      if (full.has("message") && idOf(name).startsWith("msg_")) continue;
      const bytes = await this.#inbox.read(name);
      // Taken back by whoever put it in.
      if (bytes === undefined) continue;
      const envelope = bytes === null ? undefined : decodeEnvelope(bytes);
      if (!envelope || envelope.id !== idOf(name)) {
        await this.#setAside(name, "it is not a message that can be read");
        continue;
      }
      if (full.has(envelope.kind)) continue;
      // What is to be taken back may be on its way just before it.
      if (envelope.kind === "cancel") await Promise.allSettled(recording);
      if (envelope.kind === "task") tasks.add(name);
      // Handed over in order without waiting for the disk: one sync for all of them.
      recording.push(
        this.#record(envelope).then(
          (outcome) => {
            if (outcome === "done") done.push(name);
            else full.add(envelope.kind);
          },
          (error: unknown) => {
            if (!isHoldfastError(error, "invalid_data") && !isHoldfastError(error, "record_too_large"))
              throw error;
            return this.#setAside(name, error.message);
          },
        ),
      );
    }
    const settled = await Promise.allSettled(recording);
    // The order is that of the names: a later one must not be gone while an earlier one comes again.
    await this.#inbox.done(done.sort(), (name) => tasks.has(name));
    for (const one of settled) if (one.status === "rejected") throw one.reason;
  }

  async #record(envelope: Envelope): Promise<"done" | "later"> {
    try {
      await this.#apply(envelope);
      return "done";
    } catch (error) {
      if (isHoldfastError(error, "arrived_before")) return "done";
      if (isHoldfastError(error) && LATER.includes(error.code)) return "later";
      throw error;
    }
  }

  async #apply(envelope: Envelope): Promise<void> {
    const session = this.#session;
    switch (envelope.kind) {
      case "message":
        await session.append("message_received", {
          message: envelope.id,
          from: envelope.from,
          text: envelope.text,
        });
        return;
      case "task":
        await session.append("task_queued", {
          request: envelope.id,
          spec: envelope.spec as JsonObject,
          priority: envelope.priority,
        });
        return;
      case "cancel":
        return this.#commands.cancel(envelope.request);
      case "interrupt":
      case "pause":
        // Meant for another owner, who is gone.
        if (envelope.epoch !== session.epoch) return;
        return envelope.kind === "pause" ? this.#commands.pause() : this.#commands.interrupt();
    }
  }

  async #setAside(name: string, reason: string): Promise<void> {
    await this.#session
      .append("message_set_aside", { message: idOf(name).slice(0, 200), reason })
      .catch((error: unknown) => {
        if (!isHoldfastError(error, "illegal_transition")) throw error;
      });
    await this.#inbox.setAside(name);
  }
}
