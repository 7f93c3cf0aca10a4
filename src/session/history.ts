/**
 * Owns the conversation that an agent or a person can read: the turns that have ended.
 * history-1 Every call comes with its result and every result with its call: a result is part of its call
 *    here.
 */
import type { JournalRecord, Json, Usage } from "../contract/index.ts";
import { textIn } from "./fold/fields.ts";
import { isInHistory, type SessionState } from "./state.ts";

/** A message, or a call with its result. */
export type HistoryEntry =
  /** What was said in the turn, and by whom. */
  | { readonly kind: "message"; readonly role: string; readonly content: Json }
  /** A call of a tool: its id, its arguments, and how it ended. */
  | {
      readonly kind: "tool_call";
      readonly call: string;
      readonly tool: string;
      readonly args: Json;
      readonly outcome: string;
      readonly output: Json;
    };

/** A turn that ended. */
export interface HistoryTurn {
  /** The number of the turn. */
  readonly turn: number;
  /** What went into the turn. */
  readonly input: Json;
  /** What the agent said and called, in order. */
  readonly entries: readonly HistoryEntry[];
  /** `completed`, `failed` or `interrupted`. */
  readonly outcome: string;
  /** What the turn itself reported. Metered requests are not part of it. */
  readonly usage: Usage;
}

interface Building {
  readonly turn: number;
  readonly input: Json;
  readonly entries: (
    | HistoryEntry
    | { readonly kind: "open"; readonly call: string; readonly tool: string; readonly args: Json }
  )[];
}

/**
 * Yields the turns that have ended. An open turn is left out until it ends. Turns that a rewind undid are
 * left out too; `state.history` lists those that remain.
 */
export async function* historyOf(
  records: AsyncIterable<JournalRecord>,
  state: Pick<SessionState, "history">,
): AsyncGenerator<HistoryTurn> {
  let building: Building | undefined;
  for await (const { type, data } of records) {
    if (type === "turn_started") {
      const turn = Number(data["turn"]);
      building = isInHistory(state, turn) ? { turn, input: data["input"] ?? null, entries: [] } : undefined;
    } else if (!building || data["turn"] !== building.turn) {
      // Not part of this conversation.
    } else if (type === "message_added") {
      building.entries.push({
        kind: "message",
        role: textIn(data["role"]),
        content: data["content"] ?? null,
      });
    } else if (type === "tool_called") {
      const args = data["args"] ?? null;
      building.entries.push({ kind: "open", call: textIn(data["call"]), tool: textIn(data["tool"]), args });
    } else if (type === "tool_returned") {
      close(building, textIn(data["call"]), textIn(data["outcome"]), data["output"] ?? null);
    } else if (type === "turn_ended") {
      yield finish(building, textIn(data["outcome"]), (data["usage"] ?? {}) as Usage);
      building = undefined;
    }
  }
}

function close({ entries }: Building, call: string, outcome: string, output: Json): void {
  const index = entries.findIndex((entry) => entry.kind === "open" && entry.call === call);
  const entry = entries[index];
  if (entry?.kind === "open") entries[index] = { ...entry, kind: "tool_call", outcome, output };
}

function finish({ turn, input, entries }: Building, outcome: string, usage: Usage): HistoryTurn {
  return { turn, input, entries: entries.filter((entry) => entry.kind !== "open"), outcome, usage };
}
