/**
 * Owns the fold: what a session's records add up to. It joins the topics of `fold/`, each of which owns its part of
 * the state, and the lifecycle table. Pure: no I/O, no clock.
 *
 * M1 Total: any sequence of records folds, also a hostile or a newer one. What makes no sense has no effect
 *    and is counted in `oddities`; a type that this version doesn't know is counted in `unknown` and kept.
 * M2 Bounded: the size of the state depends on what is open now, not on how long the session is (J6).
 * M3 `refusal` is asked before an append, `fold` after it; what the one allows, the other never finds odd at the same
 *    time. A grant that reaches the disk after its request expired is odd, and grants nothing.
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

/** Raised whenever a cached fold of an older version would differ from a new one. */
export const MACHINE_VERSION = 18;

/** An event without a rule changes nothing but the status. */
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
    // What is recorded while it is paused changes nothing about why.
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
  if (state.id === "") return refuse("illegal_transition", `${type} before session_opened`);
  return refuse("illegal_transition", `${type} is not possible while the session is ${status}`, { status });
}

/** Undefined where the event is illegal. Nothing comes before a session is opened. */
function statusAfter({ id, status }: SessionState, type: EventType): StoredStatus | undefined {
  if (id === "" && type !== "session_opened") return undefined;
  return nextStatus(status, type);
}
