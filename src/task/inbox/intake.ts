/**
 * Owns taking envelopes in: what is in the inbox becomes records, once each and in order, and is moved away.
 *
 * intake-1 A file is moved away only after it is recorded. A file that was recorded and not moved away,
 *    because of a kill in between, is recognized by its id. So every envelope enters once.
 * intake-3 However many messages are waiting, requests to the process and tasks still get through.
 * intake-2 An unreadable file does not affect the others: it is set aside, and the reason is recorded.
 */
import {
  type ErrorCode,
  HoldfastError,
  isHoldfastError,
  isSessionId,
  type JsonObject,
} from "../../contract/index.ts";
import {
  decodeEnvelope,
  type Envelope,
  type EnvelopeOf,
  idOf,
  MAX_WAITING_FROM_SESSIONS,
  type Maildir,
} from "../../mail/index.ts";
import { MAX_ARRIVED, type Session } from "../../session/index.ts";
import type { Decided } from "./decisions.ts";

/** A person asks for a shell beside the running command. */
export interface ShellRequest {
  readonly shell: string;
  readonly by: string;
  readonly command: readonly string[];
}

/** A person allows the running task a host. */
export interface HostRequest {
  readonly host: string;
  readonly by: string;
}

export interface Commands {
  /** Whether the envelope with this id is taken in now; otherwise it stays in the inbox. Default: all are. */
  readonly takes?: (id: string) => boolean;
  interrupt(): void;
  pause(): void;
  cancel(request: string): Promise<void>;
  shell(request: ShellRequest): void;
  /** Resolves when it is recorded. */
  allowHost(request: HostRequest): Promise<void>;
  /** Resolves when it is recorded, or was before; rejects an invalid decision. */
  decide(decided: Decided): Promise<void>;
  /** An inbox that was full has room again. */
  drained(): void;
  /** Everything that was in the inbox before the look began has been handled. */
  looked?(): void;
  /** The look failed. The caller of `look` gets the error too. */
  failed?(error: unknown): void;
}

/** For callers without a session process that could handle requests. */
export const messagesOnly: Commands = {
  takes: (id) => id.startsWith("msg_"),
  interrupt: () => {},
  pause: () => {},
  cancel: async () => {},
  shell: () => {},
  allowHost: async () => {},
  decide: async () => {},
  drained: () => {},
};

/** Refused with one of these, an envelope may be taken in later: it stays in the inbox. */
const LATER: readonly ErrorCode[] = ["inbox_full", "queue_full", "illegal_transition", "disk_full"];
/**
 * Refused with one of these, an envelope can never be taken in: it is set aside, and the reason is recorded.
 */
const NEVER: readonly ErrorCode[] = [
  "invalid_data",
  "record_too_large",
  "grant_invalid",
  "approval_not_found",
];
/** The limit of unread messages from other sessions. It leaves room for messages of people. */
const MAX_UNREAD_FROM_SESSIONS = 500;

/** Kinds of mail with a limit of their own. */
type MailKind = Envelope["kind"] | "message of a session";

const mailKindOf = ({ kind, from }: Envelope): MailKind =>
  kind === "message" && isSessionId(from) ? "message of a session" : kind;

export class Intake {
  readonly #session: Session;
  readonly #inbox: Maildir;
  readonly #commands: Commands;
  #looking: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #hasLeft = false;

  constructor(session: Session, inbox: Maildir, commands: Commands) {
    this.#session = session;
    this.#inbox = inbox;
    this.#commands = commands;
  }

  /** Whether the inbox has envelopes that could not be taken in yet. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /**
   * Runs one look at a time, however often the bell rings. Resolves when a look has ended that began after
   * this call. Calls during a look share the next one.
   */
  look(): Promise<void> {
    this.#next ??= this.#looking.then(() => {
      this.#next = undefined;
      return this.#lookAndTell();
    });
    this.#looking = this.#next.catch(() => {});
    return this.#next;
  }

  async #lookAndTell(): Promise<void> {
    try {
      await this.#lookOnce();
    } catch (error) {
      this.#commands.failed?.(error);
      throw error;
    }
    // If another look was requested meanwhile, that one reports.
    if (!this.#next) this.#commands.looked?.();
  }

  async #lookOnce(): Promise<void> {
    const { takes = () => true } = this.#commands;
    const names = (await this.#inbox.waiting()).filter((name) => takes(idOf(name)));
    const isAsked = (name: string) => idOf(name).startsWith("ask_");
    const full = new Set<MailKind>();
    // intake-3: requests to the process come first, however many messages are before them.
    const inOrder = [...names.filter(isAsked), ...names.filter((name) => !isAsked(name))];
    // intake-1: at most as many at once as the fold keeps ids of.
    while (inOrder.length > 0) await this.#takeIn(inOrder.splice(0, MAX_ARRIVED), full);
    this.#hasLeft = full.size > 0;
    // Senders that waited because the inbox was full may go on.
    if (names.length >= MAX_WAITING_FROM_SESSIONS && (await this.#inbox.waiting()).length < names.length)
      this.#commands.drained();
  }

  /** `full` has the kinds for which there is no room now; later envelopes of these kinds wait too. */
  async #takeIn(names: readonly string[], full: Set<MailKind>): Promise<void> {
    const done: string[] = [];
    const tasks = new Set<string>();
    const recording: Promise<void>[] = [];
    for (const name of names) {
      if (full.has("message") && idOf(name).startsWith("msg_")) continue;
      const bytes = await this.#inbox.read(name);
      // Its sender took it back.
      if (bytes === undefined) continue;
      const envelope = bytes === null ? undefined : decodeEnvelope(bytes);
      if (!envelope || envelope.id !== idOf(name)) {
        await this.#setAside(name, "the file is not a readable envelope");
        continue;
      }
      if (full.has(mailKindOf(envelope))) continue;
      // The task that it cancels may still be on its way to the disk, or may follow directly.
      const isBarrier = envelope.kind === "cancel";
      if (isBarrier) await Promise.allSettled(recording);
      if (envelope.kind === "task") tasks.add(name);
      // Appended in order without waiting for the disk: one sync is enough for all of them.
      recording.push(
        this.#record(envelope).then(
          (outcome) => {
            if (outcome === "done") done.push(name);
            else full.add(mailKindOf(envelope));
          },
          (error: unknown) => {
            if (!isHoldfastError(error) || !NEVER.includes(error.code)) throw error;
            return this.#setAside(name, error.message);
          },
        ),
      );
      if (isBarrier) await Promise.allSettled(recording);
    }
    const settled = await Promise.allSettled(recording);
    // Removed in the order of their names: a later file must not be gone while an earlier one is still there.
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
        if (isSessionId(envelope.from) && session.state.unread.length >= MAX_UNREAD_FROM_SESSIONS)
          throw new HoldfastError(
            "inbox_full",
            `the session already has ${MAX_UNREAD_FROM_SESSIONS} unread messages from other sessions`,
          );
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
      case "keep":
        await session.append("session_kept", { isKept: envelope.isKept });
        return;
      case "cancel":
        return this.#commands.cancel(envelope.request);
      case "grant":
      case "deny":
      case "answer":
        return this.#commands.decide({ decision: envelope, by: envelope.from });
      case "interrupt":
      case "pause":
      case "shell":
      case "allow_host":
      case "raise_budget":
        // A request to an earlier owner is dropped.
        if (envelope.epoch === session.epoch) await this.#obey(envelope);
        return;
    }
  }

  async #obey(
    envelope: EnvelopeOf<"interrupt" | "pause" | "shell" | "allow_host" | "raise_budget">,
  ): Promise<void> {
    const { id, from: by } = envelope;
    switch (envelope.kind) {
      case "pause":
        return this.#commands.pause();
      case "interrupt":
        return this.#commands.interrupt();
      case "shell":
        return this.#commands.shell({ shell: id, by, command: envelope.command });
      case "allow_host":
        return this.#commands.allowHost({ host: envelope.host, by });
      case "raise_budget":
        return this.#session.raiseBudgetBy(envelope.amounts, { by, request: id });
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
