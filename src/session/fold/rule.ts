/**
 * Owns the form of a rule: what one type of event means for the state. A topic is a list of rules. Each rule
 * has both halves side by side: when the event can't be recorded, and what it changes.
 */
import { type ErrorCode, type EventType, HoldfastError, type JsonObject } from "../../contract/index.ts";
import type { SessionState } from "../state.ts";
import { type FieldOf, type Fields, type FieldsRead, readFields } from "./fields.ts";

interface Meaning<D> {
  /** Why it can't be recorded in this state at this time; undefined when it can. */
  refuse?(state: SessionState, data: D, at: string): HoldfastError | undefined;
  /** What the event changes. The fold itself counts the record and sets the status. */
  apply?(state: SessionState, data: D, at: string): Partial<SessionState>;
}

export interface Rule extends Meaning<unknown> {
  readonly type: EventType;
  read(data: JsonObject): unknown;
}

/** `fields` are the ones that the rule reads; the event's schema must have each of them. */
export function rule<T extends EventType, F extends Fields>(
  type: T,
  fields: F & { readonly [K in Exclude<keyof F, FieldOf<T>>]: never },
  meaning: Meaning<FieldsRead<F>>,
): Rule {
  return { type, read: (data) => readFields<F>(fields, data), ...meaning };
}

export function refuse(code: ErrorCode, message: string, facts: Record<string, unknown> = {}): HoldfastError {
  return new HoldfastError(code, message, facts);
}
