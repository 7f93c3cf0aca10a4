/**
 * Owns one session for the process that drives it: its turns, its budget, its pause and its end.
 * `OwnedJournal` owns how a record gets to the disk and what the records add up to.
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
import {
  assertRaised,
  type BudgetLeft,
  budgetLeft,
  budgetReached,
  raisedBy,
  reachedLimits,
} from "./budget.ts";
import { removeEnvironment } from "./environment.ts";
import { isWaiting } from "./fold/requests.ts";
import { type HistoryTurn, historyOf } from "./history.ts";
import { OwnedJournal, type OwnOptions } from "./owned-journal.ts";
import { readRecords } from "./records.ts";
import type { SessionState, Spent } from "./state.ts";
import { Turn } from "./turn.ts";
import { drivenTask } from "./work-due.ts";

export interface OpenSessionOptions extends OwnOptions {
  /** Returns the known output of the calls that a crash cut off. */
  readonly outputOfCut?: (state: SessionState) => string;
}

/** Events that define what a session is. Only its home records them. */
const IDENTITY_EVENTS = ["session_opened", "session_forked", "session_imported", "session_archived"] as const;
export type PublicEventType = Exclude<EventType, (typeof IDENTITY_EVENTS)[number]>;

export class Session implements AsyncDisposable {
  readonly #journal: OwnedJournal;
  #turn: Turn | undefined;
  #isPausedByBudget = false;
  /** Where the journal was when a task was queued or started, so that its records are found without the others. */
  readonly #begins = new Map<string, Position>();

  private constructor(journal: OwnedJournal) {
    this.#journal = journal;
  }

  /** Becomes the owner, and closes the turn that a crash cut off. */
  static async own(options: OpenSessionOptions): Promise<Session> {
    const session = new Session(await OwnedJournal.open(options));
    const { state } = session;
    try {
      // journal-5: the turn that a crash cut off is closed. It is unknown whether an open call ran, and the
      // record says so.
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

  /** The durable state. */
  get state(): SessionState {
    return this.#journal.fold.state;
  }

  /** What is spent, with the time of the open turn so far, which is recorded only when the turn ends. */
  get spentSoFar(): Spent {
    const { spent, openTurn } = this.state;
    const turn = this.#turn?.number === openTurn?.turn ? this.#turn : undefined;
    return { ...spent, durationMs: spent.durationMs + (turn?.elapsedMs ?? 0) };
  }

  /** What is left of its budget, with what is on its way and the time that the open turn has taken. */
  budgetLeft(): BudgetLeft {
    const { budget, spent } = this.#ahead;
    const openMs = this.spentSoFar.durationMs - this.state.spent.durationMs;
    return budgetLeft({ budget, spent: { ...spent, durationMs: spent.durationMs + openMs } });
  }

  /** The state with all pending records. */
  get #ahead(): SessionState {
    return this.#journal.fold.ahead;
  }

  /** The end of the durable records. */
  get position(): Position {
    return this.#journal.writer.head;
  }

  /** The number of this ownership of the session. */
  get epoch(): number {
    return this.#journal.writer.epoch;
  }

  /** Calls the observer with every record when it is on disk, until the function that it returns is called. */
  observe(observer: (records: readonly JournalRecord[]) => void): () => void {
    return this.#journal.fold.observe(observer);
  }

  /** The values that the session's tasks have in their environments now. */
  get secrets(): readonly Secret[] {
    return this.#journal.secrets;
  }

  /** Redacts the session's records; use it for everything else that is written for the session. */
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
        `${type} defines a session and is recorded by Holdfast itself; it can't be appended`,
      );
    }
    return this.record(type, data);
  }

  /** For the session's home: also records the events that define a session. */
  record<T extends EventType>(type: T, data: EventData<T>): Promise<Appended> {
    const key = beginKey(type, data);
    if (key !== undefined) this.#begins.set(key, this.position);
    return this.#journal.record(type, data);
  }

  /** A position before all records of the task. Undefined: another process wrote the first of them. */
  beginOf({ number, request }: { readonly number: number; readonly request: string | null }) {
    return this.#begins.get(request === null ? `task ${number}` : `request ${request}`);
  }

  async beginTurn(input: Json, options: { by?: string } = {}): Promise<Turn> {
    const limits = reachedLimits(this.#ahead);
    if (limits.length > 0) throw budgetReached(limits);
    const turn = new Turn(this, this.#ahead.turns + 1, this.#journal.io.clock);
    this.#turn = turn;
    await this.append("turn_started", { turn: turn.number, input, ...options });
    return turn;
  }

  /** Call it after a turn. A session that reached its budget is paused; a task from the queue is driven on before. */
  async pauseIfBudgetReached(): Promise<void> {
    const limits = reachedLimits(this.#ahead);
    if (limits.length === 0) return;
    await this.append("budget_reached", { limits });
    if (drivenTask(this.#ahead)) return;
    await this.append("session_paused", { reason: "budget" });
    this.#isPausedByBudget = true;
  }

  /** Sets limits of the budget, each at least as high as before. What the budget had stopped continues. */
  async raiseBudget(budget: Budget): Promise<void> {
    assertRaised(this.#ahead, budget);
    await this.append("budget_raised", { budget });
    await this.#continueIfRaised();
  }

  /** Adds to the limits in force, for the loop that drives the session. What the budget had stopped continues. */
  async raiseOwnBudgetBy(amounts: Budget): Promise<void> {
    await this.raiseBudgetBy(amounts, { by: `user:${this.state.user}` });
    await this.#continueIfRaised();
  }

  /**
   * Adds to the limits in force. A paused session stays paused. `request` is the id of the request that asked
   * for it.
   */
  async raiseBudgetBy(
    amounts: Budget,
    asked: { readonly by: string; readonly request?: string },
  ): Promise<void> {
    await this.append("budget_raised", { budget: raisedBy(this.#ahead.budget, amounts), ...asked });
  }

  /** Closes a turn from outside, with everything that is pending in it, if it is open. */
  async interruptTurn(turn: number): Promise<void> {
    if (this.#journal.released || this.#ahead.openTurn?.turn !== turn) return;
    await this.#endOpenTurn(this.#turn?.elapsedMs ?? 0);
  }

  /** Ends an open turn as interrupted, records the pause, and releases the session. */
  async pause(reason: EventData<"session_paused">["reason"] = "asked"): Promise<void> {
    if (this.#journal.released) return this.#journal.released;
    await this.#endOpenTurn(this.#turn?.elapsedMs ?? 0);
    if (this.#ahead.status !== "paused") await this.append("session_paused", { reason });
    await this.release();
  }

  /** Closes the session. Queued tasks are refused, and a parked task does not go on. */
  async close(): Promise<void> {
    await this.#endOpenTurn(this.#turn?.elapsedMs ?? 0);
    const { queue, task } = this.#ahead;
    if (task?.parked) await this.append("task_ended", { task: task.number, outcome: "cancelled" });
    for (const { request } of queue)
      await this.append("task_refused", { request, code: "interrupted", reason: "the session was closed" });
    await this.append("session_closed", {});
    // A task that was cut off does not go on either.
    for (const request of [...queue.map((one) => one.request), ...(task?.request ? [task.request] : [])])
      await removeEnvironment(this.#journal.io.disk, this.#journal.sessionDir, request);
    await this.release();
  }

  /** Yields the turns that have ended, oldest first, with long content in place. */
  async *history(): AsyncGenerator<HistoryTurn> {
    yield* historyOf(readRecords(this.#journal.sessionDir), this.state);
  }

  /** Call it after the session's directory was renamed. This process is the owner there from the first moment. */
  relocate(sessionDir: string): void {
    this.#journal.relocate(sessionDir);
  }

  /** Resolves when no record of this session is on its way to the disk. */
  settled(): Promise<void> {
    return this.#journal.settled();
  }

  /**
   * Writes witness and fold, and releases the lock. The status does not change. `finish` runs last, while
   * this process is still the owner.
   */
  release(finish: () => Promise<void> = async () => {}): Promise<void> {
    return this.#journal.release(finish);
  }

  /**
   * Releases the lock without writing anything, as a crash would. For a session that never became visible.
   */
  abandon(): Promise<void> {
    return this.#journal.abandon();
  }

  /**
   * Pauses a session that is working, then releases it. Only a crash leaves an `active` session without an
   * owner.
   */
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

  async #continueIfRaised(): Promise<void> {
    if (!this.#isPausedByBudget || reachedLimits(this.#ahead).length > 0) return;
    await this.append("session_resumed", { from: "paused" });
    this.#isPausedByBudget = false;
  }

  /** Goes by the pending state: a call or a result that is on its way to the disk counts. */
  async #endOpenTurn(durationMs: number, said = ""): Promise<void> {
    const turn = this.#ahead.openTurn?.turn;
    if (turn === undefined) return;
    for (const [call, tool] of Object.entries(this.#ahead.openTurn?.calls ?? {})) {
      // The harness may report the result of this call while the other calls are closed.
      if (!Object.hasOwn(this.#ahead.openTurn?.calls ?? {}, call)) continue;
      const unknown = `The session ended while ${tool} ran: its outcome is unknown.`;
      const output = said === "" ? unknown : `${unknown} It had written:\n${said}`;
      await this.append("tool_returned", { turn, call, outcome: "interrupted", output });
    }
    if (this.#ahead.openTurn?.turn !== turn) return;
    await this.append("turn_ended", { turn, outcome: "interrupted", durationMs });
  }
}

/** How long a turn lasted that a crash cut off: until its last record. */
function cutDurationMs({ openTurn, updatedAt }: SessionState): number {
  return openTurn ? Math.max(0, Date.parse(updatedAt) - Date.parse(openTurn.startedAt)) || 0 : 0;
}

function beginKey(type: EventType, data: object): string | undefined {
  if (type === "task_queued" && "request" in data) return `request ${data.request}`;
  return type === "task_started" && "task" in data ? `task ${data.task}` : undefined;
}
