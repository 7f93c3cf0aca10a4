/**
 * Owns how it is said why a task is parked, and until when.
 */
import { type JsonObject, type ParkReason, parkReasons } from "../contract/index.ts";
import { type ParkedState, type SessionState, taskUnderWay } from "../session/index.ts";

const REASONS: Readonly<Record<ParkReason, string>> = {
  budget: "its budget is reached",
  usage_limit: "the provider's usage limit is reached",
  key: "it has no key",
};

/** In one sentence, without its end; the time is that of the reader. */
export function parkedText({ reason, until, detail }: ParkedState): string {
  const time = until === null ? "" : ` until ${new Date(until).toLocaleString("sv")}`;
  return `${REASONS[reason]}${time}${detail === null ? "" : ` (${detail})`}`;
}

/** As the record of it has it. */
export function parkedOf({ reason, until, detail }: JsonObject): ParkedState {
  return {
    reason: parkReasons.find((one) => one === reason) ?? "key",
    until: typeof until === "string" ? until : null,
    detail: typeof detail === "string" ? detail : null,
  };
}

/** Null where its task is not parked. */
export function parkedIn(state: Pick<SessionState, "task">): ParkedState | null {
  return taskUnderWay(state)?.parked ?? null;
}
