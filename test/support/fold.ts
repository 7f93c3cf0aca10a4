/** Records made by hand, folded one after the other: each a second after the one before it. */
import type { JsonObject } from "../../src/contract/index.ts";
import { emptyState, fold, type SessionState } from "../../src/session/index.ts";

export type Event = readonly [type: string, data: JsonObject];

export const second = (number: number) => new Date(number * 1000).toISOString();

export function next(
  state: SessionState,
  [type, data]: Event,
  at: string = second(state.seq + 1),
): SessionState {
  const seq = state.seq + 1;
  return fold(state, { seq, at, epoch: 1, durable: seq - 1, type, data, hash: String(seq) });
}

/** The state of a session after its opening and these events. */
export function folded(...events: readonly Event[]): SessionState {
  return [["session_opened", { session: "sess_a", user: "ani" }] as const, ...events].reduce(
    (state, event) => next(state, event),
    emptyState,
  );
}
