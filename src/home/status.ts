/**
 * Owns what a person is told of a session: derived from its journal, its lock and its process, never guessed.
 */
import type { Budget } from "../contract/index.ts";
import { probeOwner } from "../journal/index.ts";
import {
  type Inspected,
  isWaiting,
  type SessionState,
  type Spent,
  type StoredStatus,
  type WorkDue,
  workDue,
  working,
} from "../session/index.ts";

/** `running`: a turn is open. `waiting`: a request is due. `interrupted`: its process ended in the middle of work. */
export type ShownStatus = StoredStatus | "running" | "waiting" | "interrupted";

export interface SessionSummary {
  readonly id: string;
  readonly user: string;
  readonly name: string | null;
  readonly agent: string | null;
  readonly definition: SessionState["definition"];
  readonly repo: string | null;
  /** It worked on a repo where it came from, and has none here: its files wait for one. */
  readonly lacksRepo: boolean;
  readonly title: string | null;
  readonly status: ShownStatus;
  /** Why it is paused, if that is on record. */
  readonly pausedFor: SessionState["pausedFor"];
  /** The process that holds the session now. */
  readonly pid: number | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly turns: number;
  /** The turns of the conversation as it stands, first and last of those that follow each other. */
  readonly history: SessionState["history"];
  /** Its agent's own; null where it had none. */
  readonly conversation: SessionState["conversation"];
  readonly records: number;
  readonly budget: Budget;
  readonly spent: Spent;
  readonly task: SessionState["task"];
  readonly branch: SessionState["branch"];
  readonly merged: SessionState["merged"];
  /** Tasks that wait in the session. */
  readonly queue: number;
  /** What its next process has to do, or the one that it has is doing. */
  readonly due: WorkDue["kind"];
  readonly unread: number;
  /** In a row. */
  readonly crashes: number;
  readonly isKept: boolean;
  readonly handoff: SessionState["handoff"];
  readonly parent: SessionState["parent"];
  readonly pending: SessionState["pending"];
  readonly damage: Inspected["damage"] | null;
}

export function summarise(
  sessionDir: string,
  { state, damage }: Pick<Inspected, "state" | "damage">,
): SessionSummary {
  const isWorking = working.includes(state.status);
  const { held, owner } = isWorking ? probeOwner(sessionDir) : { held: false, owner: undefined };
  const {
    id,
    user,
    name,
    agent,
    repo,
    lacksRepo,
    title,
    createdAt,
    updatedAt,
    turns,
    budget,
    spent,
    task,
    handoff,
    parent,
    pending,
  } = state;
  return {
    id,
    user,
    name,
    agent,
    definition: state.definition,
    repo,
    lacksRepo,
    title,
    status: shownStatus(state, held),
    pausedFor: state.pausedFor,
    pid: held ? (owner?.pid ?? null) : null,
    createdAt,
    updatedAt,
    turns,
    history: state.history,
    conversation: state.conversation,
    records: state.seq,
    budget,
    spent,
    task,
    branch: state.branch,
    merged: state.merged,
    queue: state.queue.length,
    due: workDue(state).kind,
    unread: state.unread.length,
    crashes: state.crashes,
    isKept: state.isKept,
    handoff,
    parent,
    pending,
    damage: damage ?? null,
  };
}

export function shownStatus(
  state: Pick<SessionState, "status" | "openTurn" | "task" | "queue" | "pending">,
  isHeld: boolean,
): ShownStatus {
  const { status, openTurn, task } = state;
  if (!working.includes(status)) return status;
  if (isHeld) return isWaiting(state) ? "waiting" : openTurn ? "running" : "open";
  // There is something to do, and nobody who does it.
  if (openTurn || workDue(state).kind !== "nothing") return "interrupted";
  if (isWaiting(state)) return "waiting";
  // Its process was killed when all was done but to say so. Of a harness of somebody else's nobody knows that.
  if (status === "active") return task?.request ? "paused" : "interrupted";
  return status;
}
