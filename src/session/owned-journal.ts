/**
 * Owns the state machine joined to a journal, for the one process that owns the session: its lock, its writer
 * and its fold. `Session` owns what the records mean to an agent or a person.
 *
 * - A record is durable when `record` resolves (journal-1); a refused record changes nothing.
 * - After a failed append nothing else is written: every later call fails with the same error (journal-5).
 */
import {
  type Appended,
  type EventData,
  type EventType,
  HoldfastError,
  type SessionId,
} from "../contract/index.ts";
import {
  acquireOwner,
  assertWitnessed,
  type JournalIo,
  type JournalWriter,
  type OpenedJournal,
  type OwnerLock,
  openJournal,
  takeOver,
} from "../journal/index.ts";
import { redactingValues, type Secret } from "../redaction/index.ts";
import { KnownSecrets } from "./environment.ts";
import { parseEvent } from "./event.ts";
import { type CachedFold, readFold, writeFold } from "./fold-cache.ts";
import { LiveFold } from "./live-fold.ts";
import { refusal } from "./machine.ts";
import type { SessionState } from "./state.ts";

export interface OwnOptions {
  readonly sessionDir: string;
  readonly id: SessionId;
  readonly io: JournalIo;
  /** Ends the process that owns the session now, if there is one. */
  readonly takeOver?: boolean;
  /** The directory is not visible to other processes yet, and has no witness until it is complete. */
  readonly isStaged?: boolean;
  /** A fold that the caller has. Without one, reading begins at the cached fold. */
  readonly fold?: CachedFold | undefined;
  /** Checks the state before anything is written. If it throws, the session is unchanged. */
  readonly admit?: (state: SessionState) => void;
}

export class OwnedJournal {
  readonly id: SessionId;
  readonly io: JournalIo;
  readonly fold: LiveFold;
  #sessionDir: string;
  readonly #lock: OwnerLock;
  readonly #known: KnownSecrets;
  #opened: OpenedJournal | undefined;
  #releasing: Promise<void> | undefined;

  private constructor({ id, sessionDir, io }: OwnOptions, lock: OwnerLock) {
    this.id = id;
    this.#sessionDir = sessionDir;
    this.#lock = lock;
    this.#known = new KnownSecrets(() => this.#sessionDir);
    // value-2: every owner of a session writes through this redactor.
    this.io = { ...io, redact: redactingValues(io.redact, () => this.secrets) };
    this.fold = new LiveFold((cached) => writeFold(io.disk, this.#sessionDir, cached));
  }

  /** Becomes the owner: takes the lock, folds the journal, and recovers what a crash left. */
  static async open(options: OwnOptions): Promise<OwnedJournal> {
    const { sessionDir, id } = options;
    const lock = await (options.takeOver ? takeOver : acquireOwner)(sessionDir);
    const journal = new OwnedJournal(options, lock);
    try {
      if (!options.isStaged) await assertWitnessed(sessionDir);
      const cached = options.fold ?? (await readFold(sessionDir)).fold;
      if (cached) journal.fold.readFrom(cached);
      journal.#opened = await openJournal({
        sessionDir,
        session: id,
        io: journal.io,
        from: cached?.position,
        lastAt: cached?.state.updatedAt,
        onRecord: (record) => journal.fold.read(record),
        admit: () => options.admit?.(journal.fold.state),
        listener: journal.fold,
      });
      journal.fold.begin(journal.writer.head);
      return journal;
    } catch (error) {
      await journal.abandon();
      throw error;
    }
  }

  get sessionDir(): string {
    return this.#sessionDir;
  }

  get opened(): OpenedJournal {
    if (!this.#opened) throw new HoldfastError("session_released", `session ${this.id} is not open`);
    return this.#opened;
  }

  get writer(): JournalWriter {
    return this.opened.writer;
  }

  /** The values that the session's tasks have in their environments now. */
  get secrets(): readonly Secret[] {
    return this.#known.all();
  }

  /** Undefined while this process owns the session. */
  get released(): Promise<void> | undefined {
    return this.#releasing;
  }

  /** Resolves when the record is on disk. */
  async record<T extends EventType>(type: T, data: EventData<T>): Promise<Appended> {
    if (this.#releasing)
      throw new HoldfastError("session_released", `this handle of session ${this.id} is closed`);
    if (this.writer.failure) throw this.writer.failure;
    const { data: clean, json } = parseEvent(type, data);
    const { ahead } = this.fold;
    const now = new Date(this.io.clock.nowMs()).toISOString();
    // If the clock went back, the record gets the time of the record before it.
    const at = now > ahead.updatedAt ? now : ahead.updatedAt;
    const reason = refusal(ahead, type, clean, at);
    if (reason) throw reason;
    this.fold.expect({ seq: ahead.seq + 1, at, epoch: 0, durable: 0, type, data: clean, hash: "" });
    const { seq, hash } = await this.writer.append(type, clean, json);
    return { seq, hash };
  }

  /**
   * Call it after the session's directory was renamed. This process is the owner there from the first moment.
   */
  relocate(sessionDir: string): void {
    this.#sessionDir = sessionDir;
    this.writer.relocate(sessionDir);
    this.#lock.relocate(sessionDir);
  }

  /** Resolves when no record is on its way to the disk. */
  async settled(): Promise<void> {
    await this.writer.settled();
    await this.fold.cached();
  }

  /**
   * Writes witness and fold, and releases the lock. `finish` runs last, while this process is still the
   * owner.
   */
  release(finish: () => Promise<void>): Promise<void> {
    this.#releasing ??= this.#release(finish);
    return this.#releasing;
  }

  async #release(finish: () => Promise<void>): Promise<void> {
    try {
      await this.writer.close({ witness: true });
      await this.fold.cached();
      if (!this.writer.failure) await this.fold.cache();
      await finish();
    } finally {
      this.#lock.release();
    }
  }

  /** Releases the lock without writing anything, as a crash would. */
  async abandon(): Promise<void> {
    this.#releasing ??= Promise.resolve();
    await this.#opened?.writer.close({ witness: false });
    this.#lock.release();
  }
}
