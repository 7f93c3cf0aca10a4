/**
 * Owns what an agent is told that takes part in a session without knowing it: another agent worked there before, or its
 * own conversation is gone. It is made from the journal alone, and short enough to leave room for work.
 */
import type { Json } from "../contract/index.ts";
import type { HistoryEntry, HistoryTurn, Session } from "../session/index.ts";

const LAST_TURNS = 8;
const MAX_TEXT = 1500;
const MAX_CALLS = 12;
const MAX_STORY = 24_000;

/** Undefined where nothing has happened yet. */
export async function storyOf(session: Session): Promise<string | undefined> {
  const turns: HistoryTurn[] = [];
  for await (const turn of session.history()) {
    turns.push(turn);
    // Long sessions are told by their first words and by their end.
    if (turns.length > LAST_TURNS + 1) turns.splice(1, 1);
  }
  if (turns.length === 0) return undefined;
  const { turns: count } = session.state;
  const left = count - turns.length;
  const told = turns.flatMap((turn, index) => [
    ...(index === 1 && left > 0 ? [`(${left} turns are left out here.)`] : []),
    turnText(turn),
  ]);
  const text = [
    "# What happened in this session before",
    "You take over work that is under way. The files are as the last turn left them; git shows what has changed. Processes that ran in the background are gone. Do not do again what was done, nor try again what failed, without a reason.",
    ...told,
  ].join("\n\n");
  return text.length <= MAX_STORY ? text : `${text.slice(0, MAX_STORY)}\n(cut off here)`;
}

/** Of the last turn that ended. */
export async function cutCallsOf(session: Session): Promise<string[]> {
  let last: HistoryTurn | undefined;
  for await (const turn of session.history()) last = turn;
  return (last?.entries ?? []).flatMap((entry) =>
    entry.kind === "tool_call" && entry.outcome === "interrupted"
      ? [`${entry.tool} ${short(entry.args)}`]
      : [],
  );
}

function turnText({ turn, input, entries, outcome }: HistoryTurn): string {
  const calls = entries.filter((entry) => entry.kind === "tool_call");
  const shown = calls.slice(-MAX_CALLS);
  const lines = [
    `## Turn ${turn} (${outcome})`,
    `Asked: ${short(input)}`,
    ...(calls.length > shown.length ? [`- ${calls.length - shown.length} earlier calls`] : []),
    ...entries.flatMap((entry) => entryLines(entry, shown)),
  ];
  return lines.join("\n");
}

function entryLines(entry: HistoryEntry, shown: readonly HistoryEntry[]): string[] {
  if (entry.kind === "message")
    return [`${entry.role === "assistant" ? "Said" : "Was told"}: ${short(entry.content)}`];
  if (!shown.includes(entry)) return [];
  const failed = entry.outcome === "ok" ? "" : ` → ${entry.outcome}: ${short(entry.output, 300)}`;
  return [`- ${entry.tool} ${short(entry.args, 300)}${failed}`];
}

function short(value: Json, most = MAX_TEXT): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= most ? text : `${text.slice(0, most)} …`;
}
