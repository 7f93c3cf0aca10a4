/**
 * Owns the way in: what lies in the inbox becomes records, once each and in order, and is moved away.
 *
 * Y1 Nothing is moved away before it is on record; and what is on record and was not moved away, because we were
 *    killed in between, is known by its id. So everything enters once.
 * Y6 However many messages lie there, what is asked of the process, and tasks, get through.
 * Y2 What can't be read hurts nobody else: it is set aside, with the reason on record.
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

/** A person asks for a shell beside the command that runs. */
export interface ShellRequest {
  readonly shell: string;
  readonly by: string;
  readonly command: readonly string[];
}

/** A person lets the task that runs reach a host. */
export interface HostRequest {
  readonly host: string;
  readonly by: string;
}

export interface Commands {
  /** Whether what has this id is taken in now; what is not stays where it is. Default: all of it is. */
  readonly takes?: (id: string) => boolean;
  interrupt(): void;
  pause(): void;
  cancel(request: string): Promise<void>;
  shell(request: ShellRequest): void;
  /** Resolves when it is on record. */
  allowHost(request: HostRequest): Promise<void>;
  /** There is room again in an inbox that was full. */
  drained(): void;
  /** Whatever was asked for until now was looked at. */
  looked?(): void;
  /** What keeps it from looking. Whoever asked for the look hears it, too. */
  failed?(error: unknown): void;
}

/** For whoever has no process to ask anything of. */
export const messagesOnly: Commands = {
  takes: (id) => id.startsWith("msg_"),
  interrupt: () => {},
  pause: () => {},
  cancel: async () => {},
  shell: () => {},
  allowHost: async () => {},
  drained: () => {},
};

/** What is refused for one of these may be taken in later: it stays where it is. */
const LATER: readonly ErrorCode[] = ["inbox_full", "queue_full", "illegal_transition", "disk_full"];
/** So many unread messages may come from other sessions: they leave room for people. */
const MAX_UNREAD_FROM_SESSIONS = 500;

/** What has a limit of its own. */
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

  /** Whether something lies there that could not be taken in yet. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /**
   * One look at a time, however often the bell rings. Resolves when a look is over that began after this call: a call
   * during a look waits for the next one, together with all others that come meanwhile.
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
    // Where another look was asked for meanwhile, that one tells.
    if (!this.#next) this.#commands.looked?.();
  }

  async #lookOnce(): Promise<void> {
    const { takes = () => true } = this.#commands;
    const names = (await this.#inbox.waiting()).filter((name) => takes(idOf(name)));
    const isAsked = (name: string) => idOf(name).startsWith("ask_");
    const full = new Set<MailKind>();
    // Y6: what is asked of us comes first, however much lies before it.
    const inOrder = [...names.filter(isAsked), ...names.filter((name) => !isAsked(name))];
    // Y1: never more at once than the fold remembers by their ids.
    while (inOrder.length > 0) await this.#takeIn(inOrder.splice(0, MAX_ARRIVED), full);
    this.#hasLeft = full.size > 0;
    // Whoever had to wait with more of them may go on.
    if (names.length >= MAX_WAITING_FROM_SESSIONS && (await this.#inbox.waiting()).length < names.length)
      this.#commands.drained();
  }

  /** `full` are those for which there is no room now; what comes behind them waits, too. */
  async #takeIn(names: readonly string[], full: Set<MailKind>): Promise<void> {
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
      if (full.has(mailKindOf(envelope))) continue;
      // What is to be taken back may be on its way just before it, or lie right behind it.
      const isBarrier = envelope.kind === "cancel";
      if (isBarrier) await Promise.allSettled(recording);
      if (envelope.kind === "task") tasks.add(name);
      // Handed over in order without waiting for the disk: one sync for all of them.
      recording.push(
        this.#record(envelope).then(
          (outcome) => {
            if (outcome === "done") done.push(name);
            else full.add(mailKindOf(envelope));
          },
          (error: unknown) => {
            if (!isHoldfastError(error, "invalid_data") && !isHoldfastError(error, "record_too_large"))
              throw error;
            return this.#setAside(name, error.message);
          },
        ),
      );
      if (isBarrier) await Promise.allSettled(recording);
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
        if (isSessionId(envelope.from) && session.state.unread.length >= MAX_UNREAD_FROM_SESSIONS)
          throw new HoldfastError("inbox_full", `${MAX_UNREAD_FROM_SESSIONS} messages are unread`);
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
      case "interrupt":
      case "pause":
      case "shell":
      case "allow_host":
      case "raise_budget":
        // Meant for another owner, who is gone.
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
