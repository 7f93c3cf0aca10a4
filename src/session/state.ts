/**
 * Owns the form of a session's state: what its records add up to, and the initial value.
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

/** The last turn of the conversation; 0 when it has none. */
export const lastTurnOf = ({ history }: Pick<SessionState, "history">) => history.at(-1)?.[1] ?? 0;

export const isInHistory = ({ history }: Pick<SessionState, "history">, turn: number) =>
  history.some(([first, last]) => first <= turn && turn <= last);

export interface Spent {
  /** Without the tokens that were read from a cache or written to one. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly usd: number;
  readonly durationMs: number;
  readonly turns: number;
}

/** The session's branch in the user's repo. There is one, with a commit for each task. */
export interface BranchState {
  readonly name: string;
  /** The commit that Holdfast last put there; null while the first one is on its way. */
  readonly tip: string | null;
  /** The commit that Holdfast was about to put there; after a crash it may be there. */
  readonly intended: string | null;
}

/** A merge of the session's work into one of the user's branches. */
export interface MergeState {
  readonly into: string;
  /** The commit that the branch moves to. */
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
  /** It was passed to the agent, which has not confirmed it yet. */
  readonly isHanded: boolean;
  /** The request that it tells the decision of. It is of no use after its task. Null for other messages. */
  readonly about: string | null;
}

/** A decision or an answer that a person owes. */
export interface PendingRequest {
  readonly kind: "approval" | "question";
  /** The task that the request ends with; null when none was under way. */
  readonly task: number | null;
  /** The hash of the action to approve; null for a question. */
  readonly fingerprint: string | null;
  /** When the request can no longer be granted; null when that was not recorded. */
  readonly expiresAt: string | null;
}

/** An action that a person approved, until it is done; or one that has begun and needs no approval. */
export interface GrantState {
  readonly task: number | null;
  /** The fingerprint of the one action that it is for; empty if it needs no approval. */
  readonly fingerprint: string;
  /** When the grant can no longer be spent. */
  readonly expiresAt: string;
  /** Whether the action has begun. If so, it must be found out whether it was done. */
  readonly hasBegun: boolean;
  /** Whether it is used up. If its action ends before that, the grant permits it still. */
  readonly isSpent: boolean;
}

export interface ConversationState {
  readonly agent: string;
  /** The agent's own id of it. */
  readonly id: string;
  /** The task in which it was begun or continued. */
  readonly task: number;
  /** Whether the agent has done anything since. If so, it has read what it was asked. */
  readonly hasAnswered: boolean;
}

export interface SessionState {
  readonly id: string;
  readonly user: string;
  /**
   * The name that people call it by; null for a session of an earlier version, and where there was nothing to
   * derive it from.
   */
  readonly name: string | null;
  readonly agent: string | null;
  /** The agent definition that it was opened from, as it was then; null when there was none. */
  readonly definition: AgentDefinition | null;
  readonly repo: string | null;
  /** The session had a repo where it came from, and has none here. */
  readonly lacksRepo: boolean;
  readonly title: string | null;
  /** Words of the harness that opened it, to find it by. */
  readonly tags: readonly string[];
  /** What that harness wants to know of it again. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly status: StoredStatus;
  /** Why it is paused; null when it is not. */
  readonly pausedFor: PauseReason | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The position of the last folded record. */
  readonly seq: number;
  readonly hash: string;
  /** How many turns were begun. The turns of a fork's parent count too, because the numbers continue. */
  readonly turns: number;
  readonly openTurn: OpenTurn | null;
  /** The turns of the conversation, as ranges of a first and a last turn. A rewind leaves turns out. */
  readonly history: readonly TurnRange[];
  /** Pending approvals and questions, by id. */
  readonly pending: Readonly<Record<string, PendingRequest>>;
  /** Approvals that were granted and not used up, and actions under way that need none, by id. */
  readonly grants: Readonly<Record<string, GrantState>>;
  readonly budget: Budget;
  /** Spending since the session was opened or forked. */
  readonly spent: Spent;
  readonly task: TaskState | null;
  /** Null until something is published. */
  readonly branch: BranchState | null;
  /** The last merge of its work; null before the first. */
  readonly merged: MergeState | null;
  /** A merge that was begun. After a crash it may be done. */
  readonly merging: MergeState | null;
  /** The HEAD commit of the agent's own git when the last task ended. */
  readonly head: string | null;
  /** The last task for which a person asked for no sandbox; null if there is none. */
  readonly waivedTask: number | null;
  /** Whether one of its tasks was given variables: the agent's own commits may contain a value of them. */
  readonly hadValues: boolean;
  /** The agent's own conversation, stored in HOME; null before the first. */
  readonly conversation: ConversationState | null;
  /** HOME at the last checkpoint; null when no checkpoint has it. */
  readonly home: HomeState | null;
  /** In the order in which the tasks will begin. */
  readonly queue: readonly QueuedTask[];
  readonly unread: readonly UnreadMessage[];
  /**
   * The ids of the latest envelopes from the inbox. A file that is still there after a crash is recognized by
   * its id.
   */
  readonly arrived: readonly string[];
  /** The last message that the session sent. A crash may have come between the record and the sending. */
  readonly lastSent: string | null;
  /** How many times in a row its process crashed before a turn or a task ended. */
  readonly crashes: number;
  /** Whether a person asked to keep it, whatever its age. */
  readonly isKept: boolean;
  /** Set while a person has the files. */
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

/** All tokens that a model read and wrote, including cached ones. */
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
  tags: [],
  metadata: {},
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
  grants: {},
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
