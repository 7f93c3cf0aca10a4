/**
 * Owns the words for why a task is parked, and until when.
 */
import { type JsonObject, type ParkReason, parkReasons } from "../contract/index.ts";
import { type ParkedState, type SessionState, taskUnderWay } from "../session/index.ts";

const REASONS: Readonly<Record<ParkReason, string>> = {
  budget: "its budget is reached",
  price: "no price is known for its model",
  usage_limit: "the provider's usage limit is reached",
  key: "it has no key",
  approval: "it waits for an approval",
  answer: "it waits for an answer",
};

/** Their details are whole sentences, which say the same and more. */
const TELLING: readonly ParkReason[] = ["budget", "price"];

/** One sentence without its final full stop. The time is in the reader's time zone. */
export function parkedText({ reason, until, detail }: ParkedState): string {
  if (detail !== null && TELLING.includes(reason)) return detail;
  const time = until === null ? "" : ` until ${new Date(until).toLocaleString("sv")}`;
  return `${REASONS[reason]}${time}${detail === null ? "" : ` (${detail})`}`;
}

/** From the record of the park. */
export function parkedOf({ reason, until, detail }: JsonObject): ParkedState {
  return {
    reason: parkReasons.find((one) => one === reason) ?? "key",
    until: typeof until === "string" ? until : null,
    detail: typeof detail === "string" ? detail : null,
  };
}

/** Null if the session's task is not parked. */
export function parkedIn(state: Pick<SessionState, "task">): ParkedState | null {
  return taskUnderWay(state)?.parked ?? null;
}
