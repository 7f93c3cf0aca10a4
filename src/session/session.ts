/**
 * Owns one session as the process that holds it drives it: its turns, its budget, its pause and its end. How a record
 * comes to the disk, and what it adds up to, is `OwnedJournal`'s.
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
import type { Position, Recovery, Redactor } from "../journal/index.ts";
import type { Secret } from "../redaction/index.ts";
import { assertRaised, budgetReached, raisedBy, reachedLimits } from "./budget.ts";
import { removeEnvironment } from "./environment.ts";
import { isWaiting } from "./fold/requests.ts";
import { type HistoryTurn, historyOf } from "./history.ts";
import { OwnedJournal, type OwnOptions } from "./owned-journal.ts";
import { readRecords } from "./records.ts";
import type { SessionState, Spent } from "./state.ts";
import { Turn } from "./turn.ts";

export interface OpenSessionOptions extends OwnOptions {
  /** What is known of the output of calls that a crash cut off. */
  readonly outputOfCut?: (state: SessionState) => string;
}

/** What makes a session what it is: its home records these. */
const IDENTITY_EVENTS = ["session_opened", "session_forked", "session_imported", "session_archived"] as const;
export type PublicEventType = Exclude<EventType, (typeof IDENTITY_EVENTS)[number]>;

export class Session implements AsyncDisposable {
  readonly #journal: OwnedJournal;
  #turn: Turn | undefined;
  #isPausedByBudget = false;

  private constructor(journal: OwnedJournal) {
    this.#journal = journal;
  }

  /** Becomes the owner, and ends the turn that a crash cut off. */
  static async own(options: OpenSessionOptions): Promise<Session> {
    const session = new Session(await OwnedJournal.open(options));
    const { state } = session;
    try {
      // J5: what a crash cut off is closed, and says so: nobody knows whether an open call ran.
      const output = state.openTurn ? (options.outputOfCut?.(state) ?? "") : "";
      await session.#endOpenTurn(cutDurationMs(state), output);
      return session;
    } catch (error) {
      await session.abandon();
      throw error;
    }
  }

  get id(): SessionId {
    return this.#journal.id;
  }

  /** What is durable. */
  get state(): SessionState {
    return this.#journal.fold.state;
  }

  /** With the time that the open turn has taken so far: what a turn took is on record only when it has ended. */
  get spentSoFar(): Spent {
    const { spent, openTurn } = this.state;
    const turn = this.#turn?.number === openTurn?.turn ? this.#turn : undefined;
    return { ...spent, durationMs: spent.durationMs + (turn?.elapsedMs ?? 0) };
  }

  /** With everything that is on its way. */
  get #ahead(): SessionState {
    return this.#journal.fold.ahead;
  }

  /** The end of what is durable. */
  get position(): Position {
    return this.#journal.writer.head;
  }

  /** Which owner this is. */
  get epoch(): number {
    return this.#journal.writer.epoch;
  }

  /** Hears of every record when it is on disk. */
  observe(observer: (records: readonly JournalRecord[]) => void): void {
    this.#journal.fold.observe(observer);
  }

  /** The values that its tasks have in their environments now. */
  get secrets(): readonly Secret[] {
    return this.#journal.secrets;
  }

  /** What its records are redacted with: for what is written elsewhere for it. */
  get redact(): Redactor {
    return this.#journal.io.redact;
  }

  get recovery(): Recovery {
    return this.#journal.opened.recovery;
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
  record<T extends EventType>(type: T, data: EventData<T>): Promise<Appended> {
    return this.#journal.record(type, data);
  }

  async beginTurn(input: Json, options: { by?: string } = {}): Promise<Turn> {
    const limits = reachedLimits(this.#ahead);
    if (limits.length > 0) throw budgetReached(limits);
    const turn = new Turn(this, this.#ahead.turns + 1, this.#journal.io.clock);
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

  /** Adds to the limits in force; a session that is paused stays so. `request`: what it was asked by. */
  async raiseBudgetBy(
    amounts: Budget,
    asked: { readonly by: string; readonly request?: string },
  ): Promise<void> {
    await this.append("budget_raised", { budget: raisedBy(this.#ahead.budget, amounts), ...asked });
  }

  /** Closes a turn from outside, whatever is on its way in it. Does nothing when it is not open. */
  async interruptTurn(turn: number): Promise<void> {
    if (this.#journal.released || this.#ahead.openTurn?.turn !== turn) return;
    await this.#endOpenTurn(this.#turn?.elapsedMs ?? 0);
  }

  /** Ends an open turn as interrupted, records the pause, and lets go of the session. */
  async pause(reason: EventData<"session_paused">["reason"] = "asked"): Promise<void> {
    if (this.#journal.released) return this.#journal.released;
    await this.#endOpenTurn(this.#turn?.elapsedMs ?? 0);
    if (this.#ahead.status !== "paused") await this.append("session_paused", { reason });
    await this.release();
  }

  /** What waits in its queue will not begin, and a task that is parked will not go on. */
  async close(): Promise<void> {
    await this.#endOpenTurn(this.#turn?.elapsedMs ?? 0);
    const { queue, task } = this.#ahead;
    if (task?.parked) await this.append("task_ended", { task: task.number, outcome: "cancelled" });
    for (const { request } of queue)
      await this.append("task_refused", { request, code: "interrupted", reason: "the session was closed" });
    await this.append("session_closed", {});
    // Nor does what was cut off go on.
    for (const request of [...queue.map((one) => one.request), ...(task?.request ? [task.request] : [])])
      await removeEnvironment(this.#journal.io.disk, this.#journal.sessionDir, request);
    await this.release();
  }

  /** The turns that ended, oldest first, with long content in place. */
  async *history(): AsyncGenerator<HistoryTurn> {
    yield* historyOf(readRecords(this.#journal.sessionDir), this.state);
  }

  /** The directory was renamed, with this session in it: it is the owner there from the first moment. */
  relocate(sessionDir: string): void {
    this.#journal.relocate(sessionDir);
  }

  /** Resolves when nothing of this session is on its way to the disk. */
  settled(): Promise<void> {
    return this.#journal.settled();
  }

  /**
   * Writes witness and fold, and gives the lock back. The status stays as it is. `finish` is the last thing
   * that is done as the owner.
   */
  release(finish: () => Promise<void> = async () => {}): Promise<void> {
    return this.#journal.release(finish);
  }

  /** Lets go without a word, as a crash would: for a session that never became visible. */
  abandon(): Promise<void> {
    return this.#journal.abandon();
  }

  /** A session that is let go while it works is paused: only a crash leaves one `active` without an owner. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#journal.released) return this.#journal.released;
    try {
      if (!this.#journal.writer.failure) {
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
}

/** How long a turn lasted that a crash cut off: up to its last record. */
function cutDurationMs({ openTurn, updatedAt }: SessionState): number {
  return openTurn ? Math.max(0, Date.parse(updatedAt) - Date.parse(openTurn.startedAt)) || 0 : 0;
}
