/**
 * Owns the fold: what a session's records add up to. Pure: no I/O, no clock.
 *
 * M1 Total: any sequence of records folds, also a hostile or a newer one. What makes no sense has no effect
 *    and is counted in `oddities`; a type that this version doesn't know is counted in `unknown` and kept.
 * M2 Bounded: the size of the state depends on what is open now, not on how long the session is (J6).
 * M3 `refusal` is asked before an append, `fold` after it; what the one allows, the other never finds odd.
 */
import {
  type Budget,
  type BudgetLimit,
  type EventType,
  type HoldfastError,
  isEventType,
  isSessionName,
  type JournalRecord,
  type Json,
  type JsonObject,
  type PauseReason,
  pauseReasons,
  type Usage,
} from "../contract/index.ts";
import { effectOfArrival, isQueued, refusalOfArrival, refuse, textIn, unqueued } from "./arrivals.ts";
import { nextStatus } from "./lifecycle.ts";
import {
  nothingOfItsOwn,
  nothingSpent,
  type OpenTurn,
  SECRET_IN_WORK,
  type SessionState,
  type SnapshotState,
  type Spent,
  type TaskState,
  type TurnRange,
} from "./state.ts";

/** Raised whenever a cached fold of an older version would differ from a new one. */
export const MACHINE_VERSION = 11;

export function fold(state: SessionState, record: JournalRecord): SessionState {
  const at = { ...state, seq: record.seq, hash: record.hash, updatedAt: record.at };
  if (!isEventType(record.type)) return { ...at, unknown: state.unknown + 1 };
  const reason = refusal(state, record.type, record.data);
  const status = nextStatus(state.status, record.type);
  if (reason || !status) return { ...at, oddities: state.oddities + 1 };
  const pausedFor = status === "paused" ? pauseOf(state, record.type, record.data) : null;
  return { ...at, status, pausedFor, ...effect({ ...at, status }, record.type, record.data, record.at) };
}

/** Why this event can't be recorded in this state; undefined when it can. */
export function refusal(state: SessionState, type: EventType, data: JsonObject): HoldfastError | undefined {
  if (type === "session_opened")
    return state.id === "" ? undefined : refuse("illegal_transition", "the session was opened before");
  if (state.id === "") return refuse("illegal_transition", `${type} before session_opened`);
  if (nextStatus(state.status, type) === undefined) {
    return refuse("illegal_transition", `${type} is not possible while the session is ${state.status}`, {
      status: state.status,
    });
  }
  const { openTurn } = state;
  switch (type) {
    case "turn_started":
      if (openTurn) return refuse("turn_open", `turn ${openTurn.turn} is still open`);
      if (data["turn"] !== state.turns + 1)
        return refuse("invalid_data", `the next turn is ${state.turns + 1}`);
      return undefined;
    case "message_added":
    case "tool_called":
    case "tool_returned":
    case "turn_ended":
      if (!openTurn || data["turn"] !== openTurn.turn)
        return refuse("turn_closed", `turn ${JSON.stringify(data["turn"])} is not open`);
      return refusalInTurn(openTurn, type, data);
    case "task_started":
      if (data["task"] !== (state.task?.number ?? 0) + 1)
        return refuse("invalid_data", `the next task is ${(state.task?.number ?? 0) + 1}`);
      if (data["request"] !== undefined && !isQueued(state, data["request"]))
        return refuse("invalid_data", `${textIn(data["request"])} does not wait`);
      return undefined;
    case "capsule_created":
      return data["task"] === state.task?.number
        ? undefined
        : refuse("invalid_data", `task ${JSON.stringify(data["task"])} is not the one that was started last`);
    case "session_rewound":
    case "session_paused":
    case "session_closed":
    case "session_archived":
    case "session_handed_off":
    case "session_resumed":
    case "session_forked":
    case "session_imported":
      return openTurn ? refuse("turn_open", `turn ${openTurn.turn} is still open`) : undefined;
    case "approval_granted":
    case "approval_denied":
    case "approval_expired":
      return state.pending[textIn(data["approval"])] === "approval"
        ? undefined
        : notPending(data["approval"]);
    case "question_answered":
      return state.pending[textIn(data["question"])] === "question"
        ? undefined
        : notPending(data["question"]);
    default:
      return refusalOfArrival(state, type, data);
  }
}

function refusalInTurn({ calls }: OpenTurn, type: EventType, data: JsonObject): HoldfastError | undefined {
  const call = textIn(data["call"]);
  if (type === "tool_called" && Object.hasOwn(calls, call))
    return refuse("invalid_data", `call ${call} is open already`);
  if (type === "tool_returned" && !Object.hasOwn(calls, call))
    return refuse("invalid_data", `no call ${call} is open`);
  const open = Object.keys(calls).length;
  if (type === "turn_ended" && open > 0) return refuse("turn_open", `${open} tool calls have no result yet`);
  return undefined;
}

function effect(state: SessionState, type: EventType, data: JsonObject, at: string): Partial<SessionState> {
  switch (type) {
    case "session_opened":
      return { ...originOf(data), status: "open", createdAt: at };
    case "session_forked":
      // Not inherited: requests, and what was spent. The budget is that of the record: the parent's, or another.
      return {
        ...originOf(data),
        lacksRepo: isWithoutItsRepo(state, data),
        createdAt: at,
        pending: {},
        spent: nothingSpent,
        task: state.task && { ...state.task, capsule: "none", branch: null, request: null },
        ...nothingOfItsOwn,
        parent: { id: textIn(data["parent"]), seq: amount(data["parentSeq"]), turn: amount(data["atTurn"]) },
      };
    case "session_imported":
      // The repo is a path of another machine, and requests were made under other rules.
      return {
        user: textIn(data["user"]),
        name: nameIn(data["name"]) ?? state.name,
        repo: textOrNull(data["repo"]),
        lacksRepo: isWithoutItsRepo(state, data),
        pending: {},
        // What waits was asked for elsewhere, by somebody else perhaps: nothing of it runs here.
        queue: [],
        arrived: [],
        lastSent: null,
        crashes: 0,
        handoff: null,
        // What somebody wrote to another user is not this one's to read.
        unread: data["user"] === state.user ? state.unread : [],
        // Unless it came along, it stays where it was.
        home: null,
        ...homeIn(data),
        ...inTask(state, { capsule: "none", request: null }),
      };
    case "session_resumed": {
      // A person who resumes it begins to count anew.
      const crashes = data["from"] === "interrupted" && data["by"] !== undefined ? state.crashes + 1 : 0;
      return { crashes, ...(Object.keys(state.pending).length > 0 && { status: "waiting" as const }) };
    }
    case "turn_started":
      return {
        turns: state.turns + 1,
        history: withTurn(state.history, state.turns + 1),
        openTurn: { turn: state.turns + 1, startedAt: at, calls: {} },
      };
    case "tool_called":
      return withCalls(state, { ...state.openTurn?.calls, [textIn(data["call"])]: textIn(data["tool"]) });
    case "tool_returned":
      return withCalls(state, without(state.openTurn?.calls ?? {}, textIn(data["call"])));
    case "turn_ended":
      return {
        openTurn: null,
        spent: addSpent(state.spent, data),
        ...(data["outcome"] !== "interrupted" && { crashes: 0 }),
      };
    case "session_rewound":
      return rewound(state, data);
    case "session_kept":
      return { isKept: data["isKept"] === true };
    case "session_handed_off":
      return { handoff: { to: textIn(data["to"]), directory: textOrNull(data["directory"]) } };
    case "session_returned":
      return { handoff: null };
    case "task_started": {
      const hasUnpublished = isRecord(data["carried"]) && data["carried"]["hasUnpublished"] === true;
      // Recorded when its capsule is there.
      return {
        queue: unqueued(state, data["request"]),
        hadValues: state.hadValues || data["env"] !== undefined,
        task: {
          ...nothingDone,
          number: amount(data["task"]),
          request: textOrNull(data["request"]),
          asked: textOrNull(data["asked"]),
          base: textOrNull(data["base"]),
          capsule: "there",
          hasUnpublished,
          isHeld: hasUnpublished && state.task?.isHeld === true,
          hadValuesBefore: state.hadValues,
          headBefore: state.head,
        },
        ...homeIn(data),
      };
    }
    case "task_ended":
      return {
        ...inTask(state, {
          outcome: textIn(data["outcome"]),
          changed: changedIn(data),
          ...(isHeldBy(data) && { isHeld: true }),
        }),
        ...(typeof data["head"] === "string" && { head: data["head"] }),
      };
    case "process_started":
      return inTask(state, noCommandEnded);
    case "process_ended":
      return inTask(state, { exitCode: exitCodeIn(data["exitCode"]), signal: textOrNull(data["signal"]) });
    case "capsule_created":
    case "capsule_restored":
      return inTask(state, { capsule: "there" });
    case "capsule_torn_down":
      return inTask(state, { capsule: "torn_down" });
    case "snapshot_taken":
      return { ...inTask(state, { snapshot: snapshotOf(data) }), ...homeIn(data) };
    case "publishing_started": {
      const tip = state.branch?.tip ?? null;
      return { branch: { name: textIn(data["branch"]), tip, intended: textIn(data["commit"]) } };
    }
    case "work_published": {
      const name = textIn(data["branch"]);
      return {
        ...inTask(state, {
          branch: name,
          published: textIn(data["commit"]),
          hasUnpublished: false,
          isHeld: false,
        }),
        branch: { name, tip: textIn(data["commit"]), intended: null },
      };
    }
    case "budget_raised":
      return { budget: { ...state.budget, ...budgetIn(data["budget"]) } };
    case "approval_requested":
      return { pending: { ...state.pending, [textIn(data["approval"])]: "approval" } };
    case "question_asked":
      return { pending: { ...state.pending, [textIn(data["question"])]: "question" } };
    case "approval_granted":
    case "approval_denied":
    case "approval_expired":
      return settle(state, textIn(data["approval"]));
    case "question_answered":
      return settle(state, textIn(data["question"]));
    default:
      return effectOfArrival(state, type, data);
  }
}

/** Whatever was asked of a person was asked in turns that are left behind. Queue, inbox and what was spent stay. */
function rewound(state: SessionState, data: JsonObject): Partial<SessionState> {
  const published = textOrNull(data["published"]);
  return {
    history: historyIn(data["history"], state.turns),
    pending: {},
    ...(state.status === "waiting" && { status: "active" as const }),
    head: textOrNull(data["head"]),
    ...homeIn(data),
    ...inTask(state, {
      outcome: "rewound",
      ...noCommandEnded,
      capsule: "rewound",
      base: textOrNull(data["base"]),
      published,
      branch: published === null ? null : (state.branch?.name ?? null),
      hasUnpublished: data["hasUnpublished"] === true,
      isHeld: data["isHeld"] === true,
      headBefore: textOrNull(data["head"]),
      snapshot:
        typeof data["snapshot"] === "string" ? snapshotOf({ ...data, turn: data["toTurn"] ?? 0 }) : null,
    }),
  };
}

/** Only turns that there were, and only what rises: the fold also reads what this program did not write. */
function historyIn(value: Json | undefined, turns: number): TurnRange[] {
  const ranges: TurnRange[] = [];
  for (const pair of Array.isArray(value) ? value : []) {
    const [first, last] = Array.isArray(pair) ? pair.map(amount) : [];
    if (first === undefined || last === undefined) continue;
    if (first > (ranges.at(-1)?.[1] ?? 0) && last >= first && last <= turns) ranges.push([first, last]);
  }
  return ranges;
}

function withTurn(history: readonly TurnRange[], turn: number): readonly TurnRange[] {
  const last = history.at(-1);
  return last?.[1] === turn - 1 ? [...history.slice(0, -1), [last[0], turn]] : [...history, [turn, turn]];
}

/** Of a record that pauses it; what is recorded while it is paused changes nothing about why. */
function pauseOf({ pausedFor }: SessionState, type: EventType, data: JsonObject): PauseReason | null {
  if (type === "session_imported") return "import";
  if (type !== "session_paused") return pausedFor;
  return pauseReasons.find((reason) => reason === data["reason"]) ?? "asked";
}

/** Which limits of the budget are reached. */
export function reachedLimits({ budget, spent }: SessionState): BudgetLimit[] {
  const used: Record<BudgetLimit, number> = {
    tokens: spent.inputTokens + spent.outputTokens,
    usd: spent.usd,
    minutes: spent.durationMs / 60_000,
    turns: spent.turns,
  };
  return (Object.keys(used) as BudgetLimit[]).filter(
    (limit) => used[limit] >= (budget[limit] ?? Number.POSITIVE_INFINITY),
  );
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** It becomes a branch, so only what can be one: the fold also reads what this program did not write. */
function nameIn(value: Json | undefined): string | null {
  return typeof value === "string" && isSessionName(value) ? value : null;
}

function isWithoutItsRepo(before: SessionState, { repo }: JsonObject): boolean {
  return textOrNull(repo) === null && (before.repo !== null || before.lacksRepo);
}

function originOf(data: JsonObject) {
  return {
    id: textIn(data["session"]),
    user: textIn(data["user"]),
    name: nameIn(data["name"]),
    agent: textOrNull(data["agent"]),
    repo: textOrNull(data["repo"]),
    title: textOrNull(data["title"]),
    budget: budgetIn(data["budget"]),
  };
}

/** Only what is a limit: the fold also reads what this program did not write. */
function budgetIn(value: unknown): Budget {
  if (typeof value !== "object" || value === null) return {};
  const limits = Object.entries(value).filter(
    ([name, limit]) => BUDGET_LIMITS.has(name) && amount(limit) > 0,
  );
  return Object.fromEntries(limits) as Budget;
}

const BUDGET_LIMITS: ReadonlySet<string> = new Set<BudgetLimit>(["tokens", "usd", "minutes", "turns"]);

function withCalls(state: SessionState, calls: Readonly<Record<string, string>>): Partial<SessionState> {
  return state.openTurn ? { openTurn: { ...state.openTurn, calls } } : {};
}

/** A request that was answered; with the last one the session goes on. */
function settle(state: SessionState, id: string): Partial<SessionState> {
  const pending = without(state.pending, id);
  const isDone = Object.keys(pending).length === 0 && state.status === "waiting";
  return isDone ? { pending, status: "active" } : { pending };
}

const noCommandEnded = { exitCode: null, signal: null } satisfies Partial<TaskState>;

const nothingDone: TaskState = {
  number: 0,
  request: null,
  asked: null,
  base: null,
  outcome: null,
  changed: null,
  ...noCommandEnded,
  capsule: "none",
  snapshot: null,
  branch: null,
  published: null,
  hasUnpublished: false,
  isHeld: false,
  hadValuesBefore: false,
  headBefore: null,
};

function exitCodeIn(value: Json | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : null;
}

const isHeldBy = ({ unpublished }: JsonObject) =>
  isRecord(unpublished) && unpublished["code"] === SECRET_IN_WORK;

function inTask(state: SessionState, change: Partial<TaskState>): Partial<SessionState> {
  return state.task ? { task: { ...state.task, ...change } } : {};
}

function snapshotOf(data: JsonObject): SnapshotState {
  return {
    commit: textIn(data["snapshot"]),
    tree: textIn(data["tree"]),
    manifest: textIn(data["manifest"]),
    turn: amount(data["turn"]),
    unanswered: amount(data["unanswered"]),
  };
}

function changedIn(data: JsonObject): TaskState["changed"] {
  if (data["files"] === undefined) return null;
  return {
    files: amount(data["files"]),
    insertions: amount(data["insertions"]),
    deletions: amount(data["deletions"]),
  };
}

function isRecord(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function homeIn({ home }: JsonObject): Partial<SessionState> {
  if (!isRecord(home)) return {};
  return { home: { commit: textIn(home["snapshot"]), manifest: textIn(home["manifest"]) } };
}

function addSpent(spent: Spent, data: JsonObject): Spent {
  const usage = (data["usage"] ?? {}) as Usage;
  return {
    inputTokens: spent.inputTokens + amount(usage.inputTokens),
    outputTokens: spent.outputTokens + amount(usage.outputTokens),
    usd: spent.usd + amount(usage.usd),
    durationMs: spent.durationMs + amount(data["durationMs"]),
    turns: spent.turns + 1,
  };
}

function amount(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

function without<T>(values: Readonly<Record<string, T>>, key: string): Record<string, T> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => name !== key));
}

function notPending(id: unknown): HoldfastError {
  return refuse("invalid_data", `${textIn(id)} is not pending`);
}
