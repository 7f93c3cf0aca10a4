/**
 * Owns which calls of a session's conversation were cut off with their turn, according to the journal: those
 * of its latest turns, back to one that ended by itself.
 */
import type { CutCall } from "../agent/index.ts";
import { readDurable } from "../journal/index.ts";
import type { Room } from "./room/room.ts";

export async function cutCallsOf({ session, sessionDir }: Room): Promise<CutCall[]> {
  const before = await turnsBeforeConversation(sessionDir);
  const cut: CutCall[] = [];
  for await (const { turn, entries, outcome } of session.history()) {
    if (outcome === "completed") cut.length = 0;
    else if (turn > before)
      cut.push(...entries.flatMap((entry) => (entry.kind === "tool_call" ? [entry] : [])));
  }
  return cut;
}

/** How many turns the session had when its last conversation began. */
async function turnsBeforeConversation(sessionDir: string): Promise<number> {
  let turns = 0;
  let before = 0;
  for await (const { record } of readDurable(sessionDir)) {
    const { type, data } = record;
    if (type === "turn_started") turns = Number(data["turn"]);
    if (type === "conversation_begun" && data["how"] !== "resumed") before = turns;
  }
  return before;
}
