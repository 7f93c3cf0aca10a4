/**
 * Owns the form of a session's state: what its records add up to, and what it is before the first.
 */
import type { AgentDefinition, Budget, PauseReason } from "../contract/index.ts";
import type { StoredStatus } from "./lifecycle.ts";
import type { HomeState, TaskState } from "./task-state.ts";

export interface OpenTurn {
  readonly turn: number;
  readonly startedAt: string;
  /** Tool calls without a result, by call id: the tool's name. */
  readonly calls: Readonly<Record<string, string>>;
}

export type TurnRange = readonly [first: number, last: number];

/** The turn that a conversation ends with; 0 where it has none. */
export const lastTurnOf = ({ history }: Pick<SessionState, "history">) => history.at(-1)?.[1] ?? 0;

export const isInHistory = ({ history }: Pick<SessionState, "history">, turn: number) =>
  history.some(([first, last]) => first <= turn && turn <= last);

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

/** The session's branch in the user's repo: one, with a commit for each task. */
export interface BranchState {
  readonly name: string;
  /** The commit that we put there last; null while the first one is on its way. */
  readonly tip: string | null;
  /** The commit that was to be put there next: after a crash it may be there. */
  readonly intended: string | null;
}

/** A merge of the session's work into a branch of the user's. */
export interface MergeState {
  readonly into: string;
  /** What the branch was to become. */
  readonly commit: string;
  /** The commit of the session's branch that was merged. */
  readonly from: string;
}

/** A task that has not begun. */
export interface QueuedTask {
  readonly request: string;
  readonly priority: number;
}

/** A message that was received and has not entered the agent's context. */
export interface UnreadMessage {
  readonly message: string;
  /** Written to the agent, and no word yet whether it arrived. */
  readonly isHanded: boolean;
}

/** What a person is to decide or to answer. */
export interface PendingRequest {
  readonly kind: "approval" | "question";
  /** The task that it ends with; null where none was under way. */
  readonly task: number | null;
  /** What exactly is to be approved; null for a question. */
  readonly fingerprint: string | null;
  /** From then on it can't be granted; null where that was not said. */
  readonly expiresAt: string | null;
}

export interface ConversationState {
  readonly agent: string;
  /** By the agent's own id. */
  readonly id: string;
  /** The task that it was begun or taken up in. */
  readonly task: number;
  /** Whether the agent has done something since: then it has read what it was asked. */
  readonly hasAnswered: boolean;
}

export interface SessionState {
  readonly id: string;
  readonly user: string;
  /** What a person calls it; null for one of an earlier version, and where there was nothing to make it from. */
  readonly name: string | null;
  readonly agent: string | null;
  /** The agent definition that it was opened from, as it was then; null where it was opened from none. */
  readonly definition: AgentDefinition | null;
  readonly repo: string | null;
  /** It worked on a repo where it came from, and has none here. */
  readonly lacksRepo: boolean;
  readonly title: string | null;
  readonly status: StoredStatus;
  /** Why it is paused; null when it is not. */
  readonly pausedFor: PauseReason | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The end of what was folded. */
  readonly seq: number;
  readonly hash: string;
  /** Turns that were begun, those of a fork's parent included: turns number through. */
  readonly turns: number;
  readonly openTurn: OpenTurn | null;
  /** The turns of the conversation as it stands: first and last of those that follow each other. A rewind leaves some out. */
  readonly history: readonly TurnRange[];
  /** Approvals and questions that are due, by id. */
  readonly pending: Readonly<Record<string, PendingRequest>>;
  readonly budget: Budget;
  /** Since the session was opened or forked. */
  readonly spent: Spent;
  readonly task: TaskState | null;
  /** Null while nothing was published. */
  readonly branch: BranchState | null;
  /** The last merge of its work; null while nothing was merged. */
  readonly merged: MergeState | null;
  /** A merge that was begun: after a crash it may be done. */
  readonly merging: MergeState | null;
  /** The commit that the agent's own git stood on when a task last ended. */
  readonly head: string | null;
  /** The last task that a person wanted without a sandbox; null where none was. */
  readonly waivedTask: number | null;
  /** Whether a task of it was given variables: its agent's own commits may have a value in them. */
  readonly hadValues: boolean;
  /** The agent's own conversation, which lies in HOME; null before the first. */
  readonly conversation: ConversationState | null;
  /** HOME at the last checkpoint; null where none was taken of it. */
  readonly home: HomeState | null;
  /** In the order in which they will begin. */
  readonly queue: readonly QueuedTask[];
  readonly unread: readonly UnreadMessage[];
  /** What came through the inbox last, by id: what is still there after a crash is known by these. */
  readonly arrived: readonly string[];
  /** The last message that it sent: a crash may have come between the record and the sending. */
  readonly lastSent: string | null;
  /** How often in a row its process crashed before a turn or a task came to an end. */
  readonly crashes: number;
  /** Whether a person wants it to stay, whatever its age. */
  readonly isKept: boolean;
  /** While a person has the files. */
  readonly handoff: { readonly to: string; readonly directory: string | null } | null;
  readonly parent: { readonly id: string; readonly seq: number; readonly turn: number } | null;
  readonly unknown: number;
  readonly oddities: number;
}

const nothingSpent: Spent = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  usd: 0,
  durationMs: 0,
  turns: 0,
};

/** All that a model read and wrote, from a cache or not. */
export function tokensIn(spent: Pick<Spent, TokenKind>): number {
  return spent.inputTokens + spent.outputTokens + spent.cacheReadTokens + spent.cacheWriteTokens;
}

type TokenKind = "inputTokens" | "outputTokens" | "cacheReadTokens" | "cacheWriteTokens";

export const emptyState: SessionState = {
  id: "",
  user: "",
  name: null,
  agent: null,
  definition: null,
  repo: null,
  lacksRepo: false,
  title: null,
  status: "open",
  pausedFor: null,
  createdAt: "",
  updatedAt: "",
  seq: 0,
  hash: "",
  turns: 0,
  openTurn: null,
  history: [],
  pending: {},
  budget: {},
  spent: nothingSpent,
  task: null,
  merged: null,
  merging: null,
  head: null,
  waivedTask: null,
  hadValues: false,
  conversation: null,
  home: null,
  queue: [],
  unread: [],
  arrived: [],
  lastSent: null,
  crashes: 0,
  branch: null,
  isKept: false,
  handoff: null,
  parent: null,
  unknown: 0,
  oddities: 0,
};
