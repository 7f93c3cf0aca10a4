/**
 * Owns the state machine joined to a journal, for the one process that holds the session: its lock, its writer, its
 * fold. What the records mean to an agent or a person is the session's to say.
 *
 * - What `record` resolves is durable (J1); what it refuses has changed nothing.
 * - After a failed append nothing else is written: every later call fails the same way (J5).
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
  /** End the process that owns the session now, if one does. */
  readonly takeOver?: boolean;
  /** The directory is one that nobody can see yet: it has no witness until it is whole. */
  readonly isStaged?: boolean;
  /** A fold that the caller has; without one, the cached fold is where reading begins. */
  readonly fold?: CachedFold | undefined;
  /** Looks at the state before anything is written; what it throws leaves the session as it was. */
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
    // R5: here, because whoever owns a session writes through it.
    this.io = { ...io, redact: redactingValues(io.redact, () => this.secrets) };
    this.fold = new LiveFold((cached) => writeFold(io.disk, this.#sessionDir, cached));
  }

  /** Becomes the owner: takes the lock, folds the journal, recovers what a crash left of it. */
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
    if (!this.#opened) throw new HoldfastError("session_released", `session ${this.id} was never opened`);
    return this.#opened;
  }

  get writer(): JournalWriter {
    return this.opened.writer;
  }

  /** The values that the session's tasks have in their environments now. */
  get secrets(): readonly Secret[] {
    return this.#known.all();
  }

  /** Undefined while it is held. */
  get released(): Promise<void> | undefined {
    return this.#releasing;
  }

  /** Resolves when the record is on disk. */
  async record<T extends EventType>(type: T, data: EventData<T>): Promise<Appended> {
    if (this.#releasing) throw new HoldfastError("session_released", `session ${this.id} was released`);
    if (this.writer.failure) throw this.writer.failure;
    const { data: clean, json } = parseEvent(type, data);
    const { ahead } = this.fold;
    const now = new Date(this.io.clock.nowMs()).toISOString();
    // A clock that went back must not make a record older than the one before it.
    const at = now > ahead.updatedAt ? now : ahead.updatedAt;
    const reason = refusal(ahead, type, clean, at);
    if (reason) throw reason;
    this.fold.expect({ seq: ahead.seq + 1, at, epoch: 0, durable: 0, type, data: clean, hash: "" });
    const { seq, hash } = await this.writer.append(type, clean, json);
    return { seq, hash };
  }

  /** The directory was renamed, with this session in it: this process is the owner there from the first moment. */
  relocate(sessionDir: string): void {
    this.#sessionDir = sessionDir;
    this.writer.relocate(sessionDir);
    this.#lock.relocate(sessionDir);
  }

  /** Resolves when nothing of this session is on its way to the disk. */
  async settled(): Promise<void> {
    await this.writer.settled();
    await this.fold.cached();
  }

  /** Writes witness and fold, and gives the lock back. `finish` is the last thing that is done as the owner. */
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

  /** Lets go without a word, as a crash would. */
  async abandon(): Promise<void> {
    this.#releasing ??= Promise.resolve();
    await this.#opened?.writer.close({ witness: false });
    this.#lock.release();
  }
}
