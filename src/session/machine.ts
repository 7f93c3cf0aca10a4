/**
 * Owns the fold: what a session's records add up to. It joins the topics of `fold/`, each of which owns a
 * part of the state, and the lifecycle table. Pure: no I/O, no clock.
 *
 * machine-1 Total: every sequence of records folds, even a hostile one or one from a newer version. A record
 *    that makes no sense has no effect and is counted in `oddities`; an unknown type is counted in `unknown`
 *    and kept.
 * machine-2 Bounded: the size of the state depends on what is open now, not on how long the session is
 *    (journal-6).
 * machine-3 `refusal` is asked before an append and `fold` runs after it; `fold` accepts every record that
 *    `refusal` allowed at the same time. A grant that reaches the disk after its request expired is odd, and
 *    grants nothing.
 */
import {
  type EventType,
  type HoldfastError,
  isEventType,
  type JournalRecord,
  type JsonObject,
} from "../contract/index.ts";
import { lifeRules } from "./fold/life.ts";
import { mailRules } from "./fold/mail.ts";
import { parkingRules } from "./fold/parking.ts";
import { requestRules } from "./fold/requests.ts";
import { type Rule, refuse } from "./fold/rule.ts";
import { taskRules } from "./fold/task.ts";
import { turnRules } from "./fold/turn.ts";
import { verifyRules } from "./fold/verify.ts";
import { nextStatus, type StoredStatus } from "./lifecycle.ts";
import type { SessionState } from "./state.ts";

/** Raise it whenever a new fold would differ from a fold that an older version cached. */
export const MACHINE_VERSION = 20;

/** An event without a rule changes only the status. */
const rules: ReadonlyMap<EventType, Rule> = new Map(
  [
    ...lifeRules,
    ...turnRules,
    ...taskRules,
    ...verifyRules,
    ...parkingRules,
    ...mailRules,
    ...requestRules,
  ].map((rule) => [rule.type, rule]),
);

export function fold(state: SessionState, record: JournalRecord): SessionState {
  const { type, at, seq, hash } = record;
  if (!isEventType(type)) return { ...state, seq, hash, updatedAt: at, unknown: state.unknown + 1 };
  const rule = rules.get(type);
  const data = rule?.read(record.data);
  const status = statusAfter(state, type);
  if (status === undefined || rule?.refuse?.(state, data, at))
    return { ...state, seq, hash, updatedAt: at, oddities: state.oddities + 1 };
  return {
    ...state,
    seq,
    hash,
    updatedAt: at,
    status,
    // A record during a pause does not change the reason for the pause.
    pausedFor: status === "paused" ? state.pausedFor : null,
    ...rule?.apply?.(state, data, at),
  };
}

/** Why this event can't be recorded in this state at that time; undefined when it can. */
export function refusal(
  state: SessionState,
  type: EventType,
  data: JsonObject,
  at: string,
): HoldfastError | undefined {
  const { status } = state;
  const rule = rules.get(type);
  if (statusAfter(state, type) !== undefined) return rule?.refuse?.(state, rule.read(data), at);
  if (state.id === "") return refuse("illegal_transition", `${type} can't come before session_opened`);
  return refuse("illegal_transition", `${type} is not allowed while the session is ${status}`, { status });
}

/** Undefined where the event is illegal. The first event of a session opens it. */
function statusAfter({ id, status }: SessionState, type: EventType): StoredStatus | undefined {
  if (id === "" && type !== "session_opened") return undefined;
  return nextStatus(status, type);
}
