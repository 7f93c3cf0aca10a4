/**
 * Owns what the library's methods return: small forms of their own, so that what is inside may change.
 */
import type { Budget } from "../contract/index.ts";
import type { Progress } from "../util/index.ts";
import type { SessionRecord } from "./records.ts";

/** Tokens, money, time and turns that were spent. */
export interface Spent {
  /** Without those that were read from a cache or written to one. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly usd: number;
  readonly durationMs: number;
  readonly turns: number;
}

/** What one turn or one metered request spent. */
export interface Expense extends Spent {
  readonly at: string;
  /** The agent of the task; null for a command. */
  readonly agent: string | null;
  /** The model that was asked; null where a turn did not name it. */
  readonly model: string | null;
  /** Whether the money is counted: the price of the model was known. */
  readonly isPriced: boolean;
}

/** How much a change is. */
export interface ChangeSize {
  readonly files: number;
  readonly insertions: number;
  readonly deletions: number;
}

/** A task of a session, as it stands. */
export interface TaskView {
  readonly number: number;
  /** The request that queued it; null where a loop drives it by itself. */
  readonly request: string | null;
  /** Null while the task is open. */
  readonly outcome: string | null;
  readonly lane: string | null;
  readonly base: string | null;
  /** What its checks add up to, and the tree that they ran on; null before they ran. */
  readonly verified: { readonly tree: string; readonly verdict: string } | null;
  /** Why the task stands still, and until when; null while it is not parked. */
  readonly parked: { readonly reason: string; readonly until: string | null } | null;
  /** How much its work is; null until the task ends. */
  readonly changed: ChangeSize | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The branch and the commit that its work was published as; null while it was not. */
  readonly branch: string | null;
  readonly commit: string | null;
}

/** A session, as it stands. */
export interface SessionView {
  readonly id: string;
  readonly user: string;
  readonly name: string | null;
  readonly title: string | null;
  readonly agent: string | null;
  readonly repo: string | null;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  /** In one word: `working`, `waiting for you`, `done`, `interrupted` and so on, as `holdfast ls` shows it. */
  readonly standing: string;
  /** What it waits for, or why it is paused. */
  readonly why: string | null;
  /** The process that holds the session now. */
  readonly pid: number | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly turns: number;
  readonly records: number;
  readonly budget: Budget;
  readonly spent: Spent;
  /** Its latest task, or the one that was asked for. */
  readonly task: TaskView | null;
  /** Tasks that wait. */
  readonly queue: number;
  /** Messages that its agent has not read. */
  readonly unread: number;
  readonly isKept: boolean;
  readonly parent: { readonly id: string; readonly turn: number } | null;
  /** Where its journal is damaged; null where it is not. */
  readonly damage: { readonly file: string; readonly offset: number; readonly reason: string } | null;
}

/** The checks of a task: one receipt for each that ran. */
export interface Checks {
  /** The tree of the task's work. Receipts of another tree do not count. */
  readonly tree: string | null;
  readonly verdict: string | null;
  readonly receipts: readonly CheckReceipt[];
}

/** What one check reported, and of which tree. */
export interface CheckReceipt {
  readonly check: string;
  readonly tree: string;
  readonly passed: boolean;
  readonly exitCode: number | null;
  readonly reason: string | null;
  readonly command: string;
  readonly durationMs: number;
  readonly at: string;
  readonly output: string;
}

/** What a task changed. */
export interface Diff {
  readonly patch: Buffer;
  readonly stat: ChangeSize;
  readonly base: string | null;
  readonly tree: string;
}

/** Something that happens in a session while it is watched. */
export type WatchEvent =
  | { readonly kind: "record"; readonly record: SessionRecord }
  | { readonly kind: "output"; readonly stream: "stdout" | "stderr" | "setup"; readonly chunk: Buffer }
  /** Long work is at this; null: at none any more. */
  | { readonly kind: "progress"; readonly step: Progress | null }
  /** The task was kept from this host. */
  | { readonly kind: "refused"; readonly host: string }
  /** It is in the line, for this reason. */
  | { readonly kind: "waits"; readonly reason: string }
  /** No process has the session any more. */
  | { readonly kind: "left" };

/** A part of what a task wrote. */
export type OutputPart =
  /** Without a stream: both, as they came. */
  | { readonly kind: "output"; readonly stream: "stdout" | "stderr" | null; readonly chunk: Buffer }
  /** `cut`: the limit was reached. `excerpt`: the beginning and the end follow. `goes_on`: the task is not over. */
  | { readonly kind: "note"; readonly about: "cut" | "excerpt" | "goes_on" };

/** A task that waits in a session's queue. */
export interface WaitingTask {
  readonly request: string;
  readonly priority: number;
  readonly at: string;
  /** Its title or its command, without secrets. */
  readonly asked: string;
  /** Why it does not begin; null where nothing keeps it. */
  readonly why: string | null;
}

/** The task that is under way, and those that wait. */
export interface Queue {
  readonly current: {
    readonly task: number;
    readonly request: string;
    readonly parked: string | null;
  } | null;
  readonly waiting: readonly WaitingTask[];
}

/** An approval or a question that waits for a person. */
export interface PersonRequest {
  readonly kind: "approval" | "question";
  readonly id: string;
  readonly session: string;
  readonly task: number | null;
  readonly at: string;
  readonly expiresAt: string | null;
  /** The whole record: for an approval, the action, its fingerprint and its tree; for a question, the text. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** A message that is on disk. */
export interface Sent {
  readonly message: string;
  /** False: a message was sent under this id before, and this one was not. */
  readonly isNew: boolean;
  /** Whether a process takes it in now; otherwise it waits until the session continues. */
  readonly isHeard: boolean;
}

/** How a wait ended. */
export interface Waited {
  readonly task: number | null;
  /** The outcome of the task; or `parked`, `halted`, `refused`, `waits`, `none`. */
  readonly outcome: string;
  /** What a parked task waits for. */
  readonly why?: string;
  /** The exit status that `holdfast run` would have had. */
  readonly status: number;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** How a task of one's own ended. */
export interface TaskResult {
  readonly task: number;
  readonly outcome: string;
  readonly tree: string;
  readonly stat: ChangeSize;
  readonly patch: string;
  /** Null where there was nothing to publish, or the work was held back. */
  readonly branch: string | null;
  /** Why work that should be on the branch is not. */
  readonly unpublished: { readonly code: string; readonly reason: string } | null;
}

/** Work that is on the session's branch. */
export interface Branched {
  readonly branch: string;
  readonly commit: string;
  /** False where the branch had all of it before. */
  readonly isNew: boolean;
}

/** Work that was merged. */
export interface Merged {
  readonly into: string;
  /** The commit that the branch is at now. */
  readonly commit: string;
  readonly commits: number;
  readonly verdict: string;
  /** False where the branch had all of it before. */
  readonly isNew: boolean;
}

/** Work that stands on a newer commit now. */
export interface Rebased {
  readonly onto: string;
  readonly branch: string;
  readonly commit: string;
  /** False where it stood there before. */
  readonly isNew: boolean;
}

/** What a teardown gave back. */
export interface Receipt {
  readonly task: number;
  readonly snapshot: string | null;
  readonly freedBytes: number;
  readonly ports: readonly number[];
  /** Ignored files beyond the limit: they are gone. */
  readonly omitted: readonly string[];
}

/** Where a person has the files. */
export interface HandOff {
  readonly directory: string;
  readonly to: string;
}

/** What a person gave back. */
export interface Returned {
  readonly turn: number;
  readonly isChanged: boolean;
  readonly branch: string | null;
}

/** What an audit found. */
export interface Audit {
  readonly isSound: boolean;
  readonly artifacts: number;
  readonly snapshots: number;
  readonly findings: readonly AuditFinding[];
}

/** One place that is damaged. */
export interface AuditFinding {
  readonly file: string;
  readonly offset: number;
  readonly reason: string;
}

/** What an export left out. */
export interface Exported {
  /** Files of HOME in which a secret was found, and the rules that found it. */
  readonly leftOut: readonly { readonly path: string; readonly rules: readonly string[] }[];
}

/** What was freed. */
export interface Freed {
  readonly freedBytes: number;
  readonly steps: number;
}

/** Something about the machine or the home that a person should know. */
export interface Finding {
  readonly level: "ok" | "note" | "bad";
  readonly what: string;
  readonly detail: string;
}
