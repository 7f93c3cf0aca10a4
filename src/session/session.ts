/**
 * Owns the drive of one session: the state machine joined to its journal, for the one process that holds it.
 *
 * - What `append` resolves is durable (J1); what it refuses has changed nothing.
 * - `state` is a fold of what is durable, never of what is on its way.
 * - After a failed append nothing else is written: every later call fails the same way (J5).
 */
import {
  type Appended,
  type Budget,
  type EventData,
  type EventType,
  HoldfastError,
  type JournalRecord,
  type Json,
  type SessionId,
} from "../contract/index.ts";
import {
  acquireOwner,
  assertWitnessed,
  type JournalPorts,
  type JournalWriter,
  type OpenedJournal,
  type OwnerLock,
  openJournal,
  type Position,
  type Recovery,
  type Redactor,
  takeOver,
} from "../journal/index.ts";
import { redactingValues, type Secret } from "../redaction/index.ts";
import { assertRaised, budgetReached, reachedLimits } from "./budget.ts";
import { KnownSecrets, removeEnvironment } from "./environment.ts";
import { parseEvent } from "./event.ts";
import { isWaiting } from "./fold/requests.ts";
import { type CachedFold, readFold, writeFold } from "./fold-cache.ts";
import { type HistoryTurn, historyOf } from "./history.ts";
import { fold, refusal } from "./machine.ts";
import { readRecords } from "./records.ts";
import { emptyState, type SessionState } from "./state.ts";
import { Turn } from "./turn.ts";

export interface OpenSessionOptions {
  readonly sessionDir: string;
  readonly id: SessionId;
  readonly ports: JournalPorts;
  /** End the process that owns the session now, if one does. */
  readonly takeOver?: boolean;
  /** The directory is one that nobody can see yet: it has no witness until it is whole. */
  readonly isStaged?: boolean;
  /** A fold that the caller has; without one, the cached fold is where reading begins. */
  readonly fold?: CachedFold | undefined;
  /** What is known of the output of calls that a crash cut off. */
  readonly outputOfCut?: (state: SessionState) => string;
  /** Looks at the state before anything is written; what it throws leaves the session as it was. */
  readonly admit?: (state: SessionState) => void;
}

/** What makes a session what it is: its home records these. */
const IDENTITY_EVENTS = ["session_opened", "session_forked", "session_imported", "session_archived"] as const;
export type PublicEventType = Exclude<EventType, (typeof IDENTITY_EVENTS)[number]>;

/** A few megabytes: read and folded in the time of a few syncs. */
const SEGMENTS_PER_FOLD = 2;

export class Session implements AsyncDisposable {
  readonly id: SessionId;
  #sessionDir: string;
  readonly #ports: JournalPorts;
  readonly #lock: OwnerLock;
  #opened: OpenedJournal | undefined;
  /** What is durable. */
  #state: SessionState = emptyState;
  #position: Position | undefined;
  /** With everything that is on its way: what the next append is judged by. */
  #ahead: SessionState = emptyState;
  #caching: Promise<void> = Promise.resolve();
  #turn: Turn | undefined;
  #releasing: Promise<void> | undefined;
  #isPausedByBudget = false;
  readonly #observers: ((records: readonly JournalRecord[]) => void)[] = [];
  readonly #known = new KnownSecrets(() => this.#sessionDir);

  private constructor({ id, sessionDir, ports }: OpenSessionOptions, lock: OwnerLock) {
    this.id = id;
    this.#sessionDir = sessionDir;
    // R5: here, because whoever owns a session writes through it.
    this.#ports = { ...ports, redact: redactingValues(ports.redact, () => this.secrets) };
    this.#lock = lock;
  }

  /** Becomes the owner: takes the lock, folds the journal, recovers what a crash left of it. */
  static async own(options: OpenSessionOptions): Promise<Session> {
    const { sessionDir, id } = options;
    const acquire = options.takeOver ? takeOver : acquireOwner;
    const lock = await acquire(sessionDir);
    const session = new Session(options, lock);
    try {
      if (!options.isStaged) await assertWitnessed(sessionDir);
      const cached = options.fold ?? (await readFold(sessionDir)).fold;
      if (cached) session.#state = cached.state;
      const opened = await openJournal({
        sessionDir,
        session: id,
        ports: session.#ports,
        from: cached?.position,
        lastAt: cached?.state.updatedAt,
        onRecord: (record) => {
          session.#state = fold(session.#state, record);
        },
        admit: () => options.admit?.(session.#state),
        listener: session.#listener(),
      });
      session.#opened = opened;
      session.#position = opened.writer.head;
      session.#ahead = session.#state;
      // J5: what a crash cut off is closed, and says so: nobody knows whether an open call ran.
      const output = session.#state.openTurn ? (options.outputOfCut?.(session.#state) ?? "") : "";
      await session.#endOpenTurn(cutDurationMs(session.#state), output);
      return session;
    } catch (error) {
      await session.abandon();
      throw error;
    }
  }

  get state(): SessionState {
    return this.#state;
  }

  /** The end of what is durable. */
  get position(): Position {
    return this.#writer.head;
  }

  /** Which owner this is. */
  get epoch(): number {
    return this.#writer.epoch;
  }

  /** Hears of every record when it is on disk. */
  observe(observer: (records: readonly JournalRecord[]) => void): void {
    this.#observers.push(observer);
  }

  /** The values that its tasks have in their environments now. */
  get secrets(): readonly Secret[] {
    return this.#known.all();
  }

  /** What its records are redacted with: for what is written elsewhere for it. */
  get redact(): Redactor {
    return this.#ports.redact;
  }

  get recovery(): Recovery {
    return this.#journal.recovery;
  }

  get #journal(): OpenedJournal {
    if (!this.#opened) throw new HoldfastError("session_released", `session ${this.id} was never opened`);
    return this.#opened;
  }

  get #writer(): JournalWriter {
    return this.#journal.writer;
  }

  /** Resolves when the record is on disk. */
  async append<T extends PublicEventType>(type: T, data: EventData<T>): Promise<Appended> {
    if ((IDENTITY_EVENTS as readonly string[]).includes(type)) {
      throw new HoldfastError(
        "illegal_transition",
        `${type} says what a session is: only its home may record that`,
      );
    }
    return this.record(type, data);
  }

  /** For its home: also the events that make a session what it is. */
  async record<T extends EventType>(type: T, data: EventData<T>): Promise<Appended> {
    if (this.#releasing) throw new HoldfastError("session_released", `session ${this.id} was released`);
    if (this.#writer.failure) throw this.#writer.failure;
    const { data: clean, json } = parseEvent(type, data);
    const { seq, updatedAt } = this.#ahead;
    const now = new Date(this.#ports.clock.nowMs()).toISOString();
    // A clock that went back must not make a record older than the one before it.
    const at = now > updatedAt ? now : updatedAt;
    const reason = refusal(this.#ahead, type, clean, at);
    if (reason) throw reason;
    this.#ahead = fold(this.#ahead, { seq: seq + 1, at, epoch: 0, durable: 0, type, data: clean, hash: "" });
    const record = await this.#writer.append(type, clean, json);
    return { seq: record.seq, hash: record.hash };
  }

  async beginTurn(input: Json, options: { by?: string } = {}): Promise<Turn> {
    const limits = reachedLimits(this.#ahead);
    if (limits.length > 0) throw budgetReached(limits);
    const turn = new Turn(this, this.#ahead.turns + 1, this.#ports.clock);
    this.#turn = turn;
    await this.append("turn_started", { turn: turn.number, input, ...options });
    return turn;
  }

  /** After a turn: a session whose budget is reached is paused, never killed. */
  async pauseIfBudgetReached(): Promise<void> {
    const limits = reachedLimits(this.#ahead);
    if (limits.length === 0) return;
    await this.append("budget_reached", { limits });
    await this.append("session_paused", { reason: "budget" });
    this.#isPausedByBudget = true;
  }

  /** A session that was paused because of its budget goes on when that suffices again. */
  async raiseBudget(budget: Budget): Promise<void> {
    assertRaised(this.#ahead, budget);
    await this.append("budget_raised", { budget });
    if (!this.#isPausedByBudget || reachedLimits(this.#ahead).length > 0) return;
    await this.append("session_resumed", { from: "paused" });
    this.#isPausedByBudget = false;
  }

  /** Closes a turn from outside, whatever is on its way in it. Does nothing when it is not open. */
  async interruptTurn(turn: number): Promise<void> {
    if (this.#releasing || this.#ahead.openTurn?.turn !== turn) return;
    await this.#endOpenTurn(this.#turn?.elapsedMs ?? 0);
  }

  /** Ends an open turn as interrupted, records the pause, and lets go of the session. */
  async pause(reason: EventData<"session_paused">["reason"] = "asked"): Promise<void> {
    if (this.#releasing) return this.#releasing;
    await this.#endOpenTurn(this.#turn?.elapsedMs ?? 0);
    if (this.#ahead.status !== "paused") await this.append("session_paused", { reason });
    await this.release();
  }

  /** What waits in its queue will not begin. */
  async close(): Promise<void> {
    await this.#endOpenTurn(this.#turn?.elapsedMs ?? 0);
    const { queue, task } = this.#ahead;
    for (const { request } of queue)
      await this.append("task_refused", { request, code: "interrupted", reason: "the session was closed" });
    await this.append("session_closed", {});
    // Nor does what was cut off go on.
    for (const request of [...queue.map((one) => one.request), ...(task?.request ? [task.request] : [])])
      await removeEnvironment(this.#ports.disk, this.#sessionDir, request);
    await this.release();
  }

  /** The turns that ended, oldest first, with long content in place. */
  async *history(): AsyncGenerator<HistoryTurn> {
    yield* historyOf(readRecords(this.#sessionDir), this.#state);
  }

  /** The directory was renamed, with this session in it: it is the owner there from the first moment. */
  relocate(sessionDir: string): void {
    this.#sessionDir = sessionDir;
    this.#writer.relocate(sessionDir);
    this.#lock.relocate(sessionDir);
  }

  /** Resolves when nothing of this session is on its way to the disk. */
  async settled(): Promise<void> {
    await this.#writer.settled();
    await this.#caching;
  }

  /**
   * Writes witness and fold, and gives the lock back. The status stays as it is. `finish` is the last thing
   * that is done as the owner.
   */
  release(finish: () => Promise<void> = async () => {}): Promise<void> {
    this.#releasing ??= this.#release(finish);
    return this.#releasing;
  }

  async #release(finish: () => Promise<void>): Promise<void> {
    try {
      await this.#writer.close({ witness: true });
      await this.#caching;
      if (!this.#writer.failure) await this.#cacheFold();
      await finish();
    } finally {
      this.#lock.release();
    }
  }

  /** Lets go without a word, as a crash would: for a session that never became visible. */
  async abandon(): Promise<void> {
    this.#releasing ??= Promise.resolve();
    await this.#opened?.writer.close({ witness: false });
    this.#lock.release();
  }

  /** A session that is let go while it works is paused: only a crash leaves one `active` without an owner. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#releasing) return this.#releasing;
    try {
      if (!this.#writer.failure) {
        await this.#endOpenTurn(this.#turn?.elapsedMs ?? 0);
        const { status } = this.#ahead;
        const isWorking = status === "active" || (status === "open" && isWaiting(this.#ahead));
        if (isWorking) await this.append("session_paused", { reason: "released" });
      }
    } finally {
      await this.release();
    }
  }

  /** By what is on its way, not by what has arrived: a call or a result in flight counts. */
  async #endOpenTurn(durationMs: number, said = ""): Promise<void> {
    const turn = this.#ahead.openTurn?.turn;
    if (turn === undefined) return;
    for (const [call, tool] of Object.entries(this.#ahead.openTurn?.calls ?? {})) {
      // Somebody may report a result while the others are closed.
      if (!Object.hasOwn(this.#ahead.openTurn?.calls ?? {}, call)) continue;
      const unknown = `The session ended while ${tool} ran: its outcome is unknown.`;
      const output = said === "" ? unknown : `${unknown} It had written:\n${said}`;
      await this.append("tool_returned", { turn, call, outcome: "interrupted", output });
    }
    if (this.#ahead.openTurn?.turn !== turn) return;
    await this.append("turn_ended", { turn, outcome: "interrupted", durationMs });
  }

  #listener() {
    return {
      onDurable: (records: readonly JournalRecord[], head: Position) => {
        for (const record of records) this.#state = fold(this.#state, record);
        const isNewSegment = head.segment !== this.#position?.segment;
        this.#position = head;
        for (const observer of this.#observers) observer(records);
        // A cached fold every few segments bounds what an open after a crash has to read.
        if (isNewSegment && head.segment % SEGMENTS_PER_FOLD === 0)
          this.#caching = this.#caching.then(() => this.#cacheFold()).catch(() => {});
      },
      onRefused: () => {
        this.#ahead = this.#state;
      },
    };
  }

  async #cacheFold(): Promise<void> {
    if (!this.#position) return;
    const cached = { position: this.#position, state: this.#state };
    // A cache that can't be written costs time at the next open, nothing else.
    await writeFold(this.#ports.disk, this.#sessionDir, cached).catch(() => {});
  }
}

/** How long a turn lasted that a crash cut off: up to its last record. */
function cutDurationMs({ openTurn, updatedAt }: SessionState): number {
  return openTurn ? Math.max(0, Date.parse(updatedAt) - Date.parse(openTurn.startedAt)) || 0 : 0;
}
