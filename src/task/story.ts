/**
 * Owns the text for an agent that joins a session it doesn't know, because another agent worked there before,
 * or because its own conversation is gone. The text is made from the journal and the trees of its
 * checkpoints. It is short enough to leave room for work: the newest turns come first, and the oldest ones
 * that do not fit are left out.
 */
import { statOf, treeOf } from "../capsule/index.ts";
import type { JournalRecord, Json } from "../contract/index.ts";
import { readDurable } from "../journal/index.ts";
import type { HistoryEntry, HistoryTurn } from "../session/index.ts";
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
  /** The first turn and the latest ones. */
  readonly turns: readonly HistoryTurn[];
  /** How many turns there were. */
  readonly count: number;
  /** The files that were changed since the session's work began. */
  readonly files: readonly string[];
  /** What people decided, in words, oldest first. */
  readonly decisions: readonly string[];
}

/** Undefined when the session has no turns yet. */
export async function storyOf(task: Pick<TaskInHand, "room" | "capsule">): Promise<string | undefined> {
  const { session, sessionDir } = task.room;
  const turns: HistoryTurn[] = [];
  let count = 0;
  for await (const turn of session.history()) {
    turns.push(turn);
    count += 1;
    // Of a long session, the first turn and the latest ones are kept.
    if (turns.length > LAST_TURNS + 1) turns.splice(1, 1);
  }
  if (turns.length === 0) return undefined;
  const decisions: string[] = [];
  const asked: Asked = new Map();
  let work: Work = {};
  for await (const { record } of readDurable(sessionDir)) {
    decisions.push(...decisionIn(record, asked));
    work = workAfter(work, record);
  }
  return tellStory({ turns, count, files: await filesIn(task, work), decisions });
}

export function tellStory({ turns, count, files, decisions }: Facts): string {
  const head = [
    "# What happened in this session before",
    "You are taking over work in progress. The files are as the last turn left them; git shows what has changed. Background processes from earlier turns have ended. Do not repeat what is already done, and do not retry what failed or was refused unless you have a new reason.",
    ...list("Files changed so far", files.slice(0, MAX_FILES), files.length),
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
  const gap = missing > 0 ? [`(Turns left out here: ${missing}.)`] : [];
  // The first turn tells what the session is about. If it fits, it comes before the gap.
  const at = told.length === turns.length ? 1 : 0;
  return [...head, ...told.slice(0, at), ...gap, ...told.slice(at)].join("\n\n");
}

function list(title: string, shown: readonly string[], count: number): string[] {
  if (count === 0) return [];
  const more = count > shown.length ? [`- and ${count - shown.length} more`] : [];
  return [[`${title}:`, ...shown.map((one) => `- ${one}`), ...more].join("\n")];
}

interface Work {
  /** The commit that the first task of the latest connected series began with. */
  readonly base?: string;
  readonly tree?: string;
}

function workAfter(work: Work, { type, data }: JournalRecord): Work {
  if (type === "task_started" && data["carried"] === undefined && typeof data["base"] === "string")
    return { base: data["base"] };
  return type === "snapshot_taken" ? { ...work, tree: String(data["tree"]) } : work;
}

/** If the files can't be read, the story goes without them. */
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

/** The calls that people were asked about, in words, by their approvals. */
type Asked = Map<string, string>;

function decisionIn({ type, data }: JournalRecord, asked: Asked): string[] {
  if (type === "approval_requested")
    asked.set(String(data["approval"]), `${data["tool"]} ${short(data["args"] ?? "", 300)}`);
  if (type === "question_answered") return [`${data["by"]} answered: ${short(data["text"] ?? "", 300)}`];
  if (type === "approval_denied")
    return [
      [`${data["by"]} denied ${asked.get(String(data["approval"])) ?? "a call"}`, data["reason"] ?? []]
        .flat()
        .join(": "),
    ];
  if (type === "fact_remembered") return [short(data["text"] ?? "", 300)];
  return [];
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
