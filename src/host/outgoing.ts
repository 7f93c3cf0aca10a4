/**
 * Owns the way out: messages of the agent to other sessions are put into the session's own outbox, from which
 * the dispatcher carries them. A session never writes to another's directory.
 *
 * outgoing-1 What is on record as sent is in the outbox, also when we are killed in between. As long as we
 *            live and something lies there, a dispatcher is called for it, because the last one may have been
 *            killed before it was done.
 *
 * Messages lie there without secrets, as they are on record (message-2).
 */
import { HoldfastError, isHoldfastError, isSessionId } from "../contract/index.ts";
import type { Redactor } from "../journal/index.ts";
import { assertMessageSize, encodeEnvelope, MAX_WAITING, type Maildir } from "../mail/index.ts";
import { withoutSecrets } from "../redaction/index.ts";
import type { Session } from "../session/index.ts";
import type { Named } from "../task/index.ts";

const REMIND_MS = 2000;
const REMIND_MAX_MS = 5 * 60_000;

export interface OutgoingIo {
  readonly outbox: Maildir;
  readonly redact: Redactor;
  newId(prefix: string): string;
  nowMs(): number;
  /** A dispatcher should carry it. */
  notify(): void;
}

export class Outgoing {
  readonly #session: Session;
  readonly #io: OutgoingIo;
  /** One after the other, so that only the last one can be on record and not in the outbox. */
  #sending: Promise<unknown> = Promise.resolve();
  #reminder: NodeJS.Timeout | undefined;
  #unput: { readonly id: string; readonly bytes: Uint8Array } | undefined;

  constructor(session: Session, io: OutgoingIo) {
    this.#session = session;
    this.#io = io;
  }

  async settleUnsent(named: Named): Promise<void> {
    const { lastSent, arrived } = this.#session.state;
    const isSettled =
      lastSent === null || arrived.includes(lastSent) || (await this.#io.outbox.knows(lastSent));
    if (!isSettled) await this.#putFromRecord(lastSent, await named.sent(lastSent));
    await this.#remind(REMIND_MS);
  }

  /** Without its secrets it may become longer than a message can be. */
  async #putFromRecord(id: string, sent: { to: string; text: string } | undefined): Promise<void> {
    try {
      if (sent) await this.#put(id, this.#encode(id, sent.to, sent.text));
    } catch (error) {
      if (!isHoldfastError(error, "message_too_large")) throw error;
      await this.#session.append("message_set_aside", { message: id, reason: error.message });
    }
  }

  /** Before we leave, because nothing reminds of it after that. */
  async callOnce(): Promise<void> {
    clearTimeout(this.#reminder);
    if ((await this.#io.outbox.waiting()).length > 0) this.#io.notify();
  }

  send(to: string, text: string): Promise<string> {
    const sending = this.#sending.then(() => this.#send(to, text));
    this.#sending = sending.catch(() => {});
    return sending;
  }

  async #send(to: string, text: string): Promise<string> {
    if (text === "") throw new HoldfastError("invalid_data", "text: the message is empty");
    if (!isSessionId(to)) throw new HoldfastError("invalid_id", `${JSON.stringify(to)} is not a session id`);
    assertMessageSize(text);
    if ((await this.#io.outbox.waiting()).length >= MAX_WAITING)
      throw new HoldfastError("inbox_full", `${MAX_WAITING} messages wait in the outbox to be carried`);
    // A message that is on record and could not be put there goes first.
    if (this.#unput) await this.#put(this.#unput.id, this.#unput.bytes);
    const id = this.#io.newId("msg");
    // Checked before it is on record: a message that is too long without its secrets is not sent at all.
    const bytes = this.#encode(id, to, await withoutSecrets(this.#io.redact, text));
    await this.#session.append("message_sent", { message: id, to, text });
    this.#unput = { id, bytes };
    await this.#put(id, bytes);
    return id;
  }

  #encode(id: string, to: string, text: string): Uint8Array {
    const at = new Date(this.#io.nowMs()).toISOString();
    return encodeEnvelope({ kind: "message", id, from: this.#session.id, at, to, text });
  }

  async #put(id: string, bytes: Uint8Array): Promise<void> {
    const { isNew } = await this.#io.outbox.put(id, bytes);
    this.#unput = undefined;
    if (isNew) this.#notify(REMIND_MS);
  }

  #notify(remindMs: number): void {
    this.#io.notify();
    // The dispatcher that was called may be killed before it comes, and then nothing reports that
    // (outgoing-1).
    this.#reminder ??= setTimeout(() => {
      this.#reminder = undefined;
      this.#remind(Math.min(2 * remindMs, REMIND_MAX_MS)).catch(() => {});
    }, remindMs).unref();
  }

  async #remind(remindMs: number): Promise<void> {
    if ((await this.#io.outbox.waiting()).length > 0) this.#notify(remindMs);
  }
}
