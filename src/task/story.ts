/**
 * Owns what an agent is told that takes part in a session without knowing it: another agent worked there before, or its
 * own conversation is gone. It is made from the journal and the trees of its checkpoints, and short enough to leave room
 * for work: the newest turns are told first, and what does not fit is left out from the oldest on.
 */
import { statOf, treeOf } from "../capsule/index.ts";
import type { JournalRecord, Json } from "../contract/index.ts";
import { readDurable } from "../journal/index.ts";
import type { HistoryEntry, HistoryTurn, Session } from "../session/index.ts";
import type { TaskInHand } from "./in-hand.ts";

const LAST_TURNS = 8;
const MAX_TEXT = 1500;
const MAX_CALLS = 12;
const MAX_MESSAGES = 6;
const MAX_FILES = 60;
const MAX_DECISIONS = 20;
const MAX_STORY = 24_000;

/** What there is to tell. */
export interface Facts {
  /** The first, and the last ones. */
  readonly turns: readonly HistoryTurn[];
  /** How many there were. */
  readonly count: number;
  /** That were changed since the session's work began. */
  readonly files: readonly string[];
  /** What people said and denied, in words, oldest first. */
  readonly decisions: readonly string[];
}

/** Undefined where nothing has happened yet. */
export async function storyOf(task: Pick<TaskInHand, "room" | "capsule">): Promise<string | undefined> {
  const { session, sessionDir } = task.room;
  const turns: HistoryTurn[] = [];
  for await (const turn of session.history()) {
    turns.push(turn);
    // Long sessions are told by their first words and by their end.
    if (turns.length > LAST_TURNS + 1) turns.splice(1, 1);
  }
  if (turns.length === 0) return undefined;
  const decisions: string[] = [];
  let work: Work = {};
  for await (const { record } of readDurable(sessionDir)) {
    decisions.push(...decisionIn(record));
    work = workAfter(work, record);
  }
  return tellStory({ turns, count: session.state.turns, files: await filesIn(task, work), decisions });
}

export function tellStory({ turns, count, files, decisions }: Facts): string {
  const head = [
    "# What happened in this session before",
    "You take over work that is under way. The files are as the last turn left them; git shows what has changed. Processes that ran in the background are gone. Do not do again what was done, nor try again what failed or was refused, without a reason.",
    ...list("Files that were changed so far", files.slice(0, MAX_FILES), files.length),
    ...list("What people decided", decisions.slice(-MAX_DECISIONS), decisions.length),
  ];
  let left = MAX_STORY - head.join("\n\n").length;
  const told: string[] = [];
  for (const turn of turns.toReversed()) {
    const text = turnText(turn);
    left -= text.length;
    if (left < 0 && told.length > 0) break;
    told.unshift(text);
  }
  const missing = count - told.length;
  const gap = missing > 0 ? [`(${missing} turns are left out here.)`] : [];
  // The first says what the session is about; where it fits, it stands before the gap.
  const at = told.length === turns.length ? 1 : 0;
  return [...head, ...told.slice(0, at), ...gap, ...told.slice(at)].join("\n\n");
}

function list(title: string, shown: readonly string[], count: number): string[] {
  if (count === 0) return [];
  const more = count > shown.length ? [`- and ${count - shown.length} more`] : [];
  return [[`${title}:`, ...shown.map((one) => `- ${one}`), ...more].join("\n")];
}

interface Work {
  /** The commit that the first of the tasks began with which follow each other. */
  readonly base?: string;
  readonly tree?: string;
}

function workAfter(work: Work, { type, data }: JournalRecord): Work {
  if (type === "task_started" && data["carried"] === undefined && typeof data["base"] === "string")
    return { base: data["base"] };
  return type === "snapshot_taken" ? { ...work, tree: String(data["tree"]) } : work;
}

/** A story without them is better than none. */
async function filesIn(
  { room: { repo }, capsule }: Pick<TaskInHand, "room" | "capsule">,
  { base, tree }: Work,
): Promise<readonly string[]> {
  if (base === undefined || tree === undefined) return [];
  try {
    return (await statOf(repo, await capsule.store(), await treeOf(repo, base), tree)).paths;
  } catch {
    return [];
  }
}

function decisionIn({ type, data }: JournalRecord): string[] {
  if (type === "question_answered") return [`${data["by"]} answered: ${short(data["text"] ?? "", 300)}`];
  if (type === "approval_denied")
    return [
      `${data["by"]} did not approve of a call${data["reason"] === undefined ? "" : `: ${data["reason"]}`}`,
    ];
  if (type === "fact_remembered") return [short(data["text"] ?? "", 300)];
  return [];
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
  const messages = entries.filter((entry) => entry.kind === "message");
  const shown = [...calls.slice(-MAX_CALLS), ...messages.slice(-MAX_MESSAGES)];
  const hidden = { calls: calls.length - MAX_CALLS, messages: messages.length - MAX_MESSAGES };
  const lines = [
    `## Turn ${turn} (${outcome})`,
    `Asked: ${short(input)}`,
    ...Object.entries(hidden).flatMap(([what, many]) => (many > 0 ? [`- ${many} earlier ${what}`] : [])),
    ...entries.flatMap((entry) => entryLines(entry, shown)),
  ];
  return lines.join("\n");
}

function entryLines(entry: HistoryEntry, shown: readonly HistoryEntry[]): string[] {
  if (!shown.includes(entry)) return [];
  if (entry.kind === "message")
    return [`${entry.role === "assistant" ? "Said" : "Was told"}: ${short(entry.content)}`];
  const failed = entry.outcome === "ok" ? "" : ` → ${entry.outcome}: ${short(entry.output, 300)}`;
  return [`- ${entry.tool} ${short(entry.args, 300)}${failed}`];
}

function short(value: Json, most = MAX_TEXT): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= most ? text : `${text.slice(0, most)} …`;
}
