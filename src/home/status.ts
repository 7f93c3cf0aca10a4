/**
 * Owns the status of a session as people see it. It is derived from the journal, the lock and the process,
 * never guessed.
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
type ShownStatus = StoredStatus | "running" | "waiting" | "interrupted";

export interface SessionSummary {
  readonly id: string;
  readonly user: string;
  readonly name: string | null;
  readonly agent: string | null;
  readonly definition: SessionState["definition"];
  readonly repo: string | null;
  /** The session had a repo where it came from, and has none here: its files need one to be restored. */
  readonly lacksRepo: boolean;
  readonly title: string | null;
  /** Words of the harness that opened it, to find it by. */
  readonly tags: SessionState["tags"];
  readonly metadata: SessionState["metadata"];
  readonly status: ShownStatus;
  /** Why it is paused, if that was recorded. */
  readonly pausedFor: SessionState["pausedFor"];
  /** The process that owns the session now. */
  readonly pid: number | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly turns: number;
  /** The turns of the conversation, as ranges of a first and a last turn. */
  readonly history: SessionState["history"];
  /** The agent's own conversation; null when it had none. */
  readonly conversation: SessionState["conversation"];
  readonly records: number;
  readonly budget: Budget;
  readonly spent: Spent;
  readonly task: SessionState["task"];
  readonly branch: SessionState["branch"];
  readonly merged: SessionState["merged"];
  /** The number of tasks in its queue. */
  readonly queue: number;
  /** What its next process has to do, or what its present process is doing. */
  readonly due: WorkDue["kind"];
  readonly unread: number;
  /** How many times in a row its process crashed. */
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
    tags,
    metadata,
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
    tags,
    metadata,
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
  // There is work to do, and no process does it.
  if (openTurn || workDue(state).kind !== "nothing") return "interrupted";
  if (isWaiting(state)) return "waiting";
  // The process was killed after its work, before it recorded that. A harness may have had more to do, so its
  // session counts as interrupted.
  if (status === "active") return task?.request ? "paused" : "interrupted";
  return status;
}
