/**
 * Owns how the library shows a session: its state, its tasks, what it spent, and what waits in it. These are small forms
 * of their own, so that what is inside may change.
 */
import type { Budget } from "../contract/index.ts";
import type { Standing } from "../dispatch/index.ts";

/** Tokens, money, time and turns that were spent. */
export interface Spent {
  /** Input tokens that were neither read from a cache nor written to one. */
  readonly inputTokens: number;
  /** Tokens that models wrote. */
  readonly outputTokens: number;
  /** Input tokens that a provider read from its cache. */
  readonly cacheReadTokens: number;
  /** Input tokens that a provider wrote to its cache. */
  readonly cacheWriteTokens: number;
  /** Money in US dollars, as far as prices are known. */
  readonly usd: number;
  /** The time that turns were open, in milliseconds. */
  readonly durationMs: number;
  /** The number of turns. */
  readonly turns: number;
}

/** What one turn or one metered request spent. */
export interface Expense extends Spent {
  /** When it was recorded: ISO 8601, UTC. */
  readonly at: string;
  /** The agent of the task; null for a command, and outside of a task. */
  readonly agent: string | null;
  /** The model that was asked; null for a turn that reported usage without naming one. */
  readonly model: string | null;
  /** Whether the price of the model was known, so that `usd` counts the money. */
  readonly isPriced: boolean;
}

/** The size of a change. */
export interface ChangeSize {
  /** The number of files that differ. */
  readonly files: number;
  /** The number of lines that were added. */
  readonly insertions: number;
  /** The number of lines that were removed. */
  readonly deletions: number;
}

/** A task of a session, in its current state. */
export interface TaskView {
  /** The number of the task in its session, from 1. */
  readonly number: number;
  /** The request that queued the task; null for a task that a loop drives by itself. */
  readonly request: string | null;
  /** How the task ended; null while it is open. */
  readonly outcome: string | null;
  /** The name of the lane in which the task runs. */
  readonly lane: string | null;
  /** The commit that the task began with; null without a repo. */
  readonly base: string | null;
  /** The verdict of the checks and the tree that they ran on; null before they ran. */
  readonly verified: { readonly tree: string; readonly verdict: string } | null;
  /** Why the task is parked, and until when; null while it is not parked. */
  readonly parked: { readonly reason: string; readonly until: string | null } | null;
  /** The size of the work; null until the task ends. */
  readonly changed: ChangeSize | null;
  /** The exit status of the task's last command; null without one. */
  readonly exitCode: number | null;
  /** The signal that ended the task's last command; null without one. */
  readonly signal: string | null;
  /** The branch on which the work was published; null if it was not. */
  readonly branch: string | null;
  /** The commit as which the work was published; null if it was not. */
  readonly commit: string | null;
}

/** A session, in its current state. */
export interface SessionView {
  /** The id of the session. */
  readonly id: string;
  /** The user that the session belongs to. */
  readonly user: string;
  /** What a person calls the session; null if it has no name. */
  readonly name: string | null;
  /** What the session is about. */
  readonly title: string | null;
  /** The agent for tasks that name none. */
  readonly agent: string | null;
  /** The repo that the session works on; null without one. */
  readonly repo: string | null;
  /** The tags that it was opened with. */
  readonly tags: readonly string[];
  /** The metadata that it was opened with. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The state in a person's words: `working`, `waiting for you`, `done`, `interrupted` and so on, as `holdfast ls` shows it. */
  readonly standing: Standing;
  /** What the session waits for, or why it is paused. */
  readonly why: string | null;
  /** The process that has the session now; null if none has it. */
  readonly pid: number | null;
  /** When the session was opened: ISO 8601, UTC. */
  readonly createdAt: string;
  /** The time of its last record: ISO 8601, UTC. */
  readonly updatedAt: string;
  /** The number of turns that were begun. */
  readonly turns: number;
  /** The number of records in the journal. */
  readonly records: number;
  /** The limits of the session. A limit that is missing is not set. */
  readonly budget: Budget;
  /** What the session has spent. */
  readonly spent: Spent;
  /** The latest task, or the one that was asked for; null before the first one. */
  readonly task: TaskView | null;
  /** The number of tasks that wait. */
  readonly queue: number;
  /** The number of messages that the agent has not read. */
  readonly unread: number;
  /** Whether retention and gc leave the session alone. */
  readonly isKept: boolean;
  /** The session that this one is a fork of, and the turn; null if it is no fork. */
  readonly parent: { readonly id: string; readonly turn: number } | null;
  /** Where the journal is damaged; null if it is whole. */
  readonly damage: { readonly file: string; readonly offset: number; readonly reason: string } | null;
}

/** The checks of a task: one receipt for each that ran. */
export interface Checks {
  /** The tree of the task's work. Receipts of another tree do not count. */
  readonly tree: string | null;
  /** The verdict of all checks; null before they ran. */
  readonly verdict: string | null;
  /** The receipts, oldest first. */
  readonly receipts: readonly CheckReceipt[];
}

/** The record of one check that ended. */
export interface CheckReceipt {
  /** The name of the check. */
  readonly check: string;
  /** The tree that the check ran on. */
  readonly tree: string;
  /** Whether the check passed. */
  readonly passed: boolean;
  /** The exit status of its command; null if a signal ended it. */
  readonly exitCode: number | null;
  /** Why the check failed, if not by its exit status. */
  readonly reason: string | null;
  /** The command. */
  readonly command: string;
  /** How long the check ran, in milliseconds. */
  readonly durationMs: number;
  /** When it ended: ISO 8601, UTC. */
  readonly at: string;
  /** The beginning and the end of its output. */
  readonly output: string;
}

/** A task that waits in a session's queue. */
export interface WaitingTask {
  /** The id of the task until it begins. */
  readonly request: string;
  /** Tasks with a higher priority begin earlier. */
  readonly priority: number;
  /** When the task was asked for: ISO 8601, UTC. */
  readonly at: string;
  /** Its title or its command, without secrets. */
  readonly asked: string;
  /** What keeps the task from beginning; null if nothing does. */
  readonly why: string | null;
}

/** The task that is under way. */
export interface CurrentTask {
  /** The number of the task. */
  readonly task: number;
  /** The request that queued it. */
  readonly request: string;
  /** Why it is parked; null while it is not. */
  readonly parked: string | null;
}

/** The task that is under way, and those that wait. */
export interface Queue {
  /** The task that is under way; null if there is none. */
  readonly current: CurrentTask | null;
  /** The tasks that wait, in the order in which they will begin. */
  readonly waiting: readonly WaitingTask[];
}

/** An approval or a question that waits for a person. */
export interface PersonRequest {
  /** Whether a person has to decide or to answer. */
  readonly kind: "approval" | "question";
  /** The id of the approval or the question. */
  readonly id: string;
  /** The id of the session that asks. */
  readonly session: string;
  /** The task that asks; null outside of a task. */
  readonly task: number | null;
  /** When it was asked: ISO 8601, UTC. */
  readonly at: string;
  /** When the request expires; null if it does not. */
  readonly expiresAt: string | null;
  /** The whole record: for an approval, the action, its fingerprint and its tree; for a question, the text. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** A file that a task left: its patch, its output, the receipts of its checks, its summary and others. */
export interface Artifact {
  /** The number of the task. */
  readonly task: number;
  /** The name of the file. */
  readonly name: string;
  /** Its size. */
  readonly bytes: number;
  /** The hash of its content. */
  readonly sha256: string;
}
