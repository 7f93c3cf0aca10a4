/**
 * Owns the full text of all sessions: what of a record is searchable, how the index is updated from the
 * journals, and the search. An update reads only what was appended since the last one.
 */
import type { DatabaseSync } from "node:sqlite";
import { isHoldfastError, type JournalRecord, type JsonObject, type SessionId } from "../contract/index.ts";
import { loadLongFields, MAX_DEPTH, type Position, readDurable } from "../journal/index.ts";
import { errorCode } from "../util/index.ts";
import { type Home, sessionDirOf } from "./home.ts";
import { transact, withIndex } from "./index-db.ts";
import { inspectAllWith } from "./inspected-rows.ts";

/** The number of records that are indexed in one transaction. */
const INDEX_BATCH = 1000;
/** How much of one text is searchable. */
const MAX_INDEXED_CHARS = 64 * 1024;

/** One place in which the words stand. */
export interface SearchHit {
  /** The id of the session. */
  readonly session: string;
  /** The record that has the words. */
  readonly seq: number;
  /** The turn of that record; null outside of a turn. */
  readonly turn: number | null;
  /** When it was recorded: ISO 8601, UTC. */
  readonly at: string;
  /** The event of that record. */
  readonly type: string;
  /** The text around the words. */
  readonly snippet: string;
}

interface IndexedText {
  readonly seq: number;
  readonly turn: number | null;
  readonly at: string;
  readonly type: string;
  readonly text: string;
}

interface Indexing {
  readonly home: Home;
  readonly database: DatabaseSync;
}

export function searchTexts(
  home: Home,
  words: readonly string[],
  { user, limit }: { readonly user: string; readonly limit: number },
): Promise<SearchHit[]> {
  return withIndex(home, async (database) => {
    await indexTexts({ home, database });
    // Each word becomes a quoted string, so nothing in it is query syntax.
    const query = words.map((word) => `"${word.replaceAll('"', '""')}"`).join(" ");
    const rows = database
      .prepare(
        `SELECT t.session, t.seq, t.turn, t.at, t.type, snippet(texts, 5, '', '', '…', 16) AS snippet
         FROM texts t JOIN indexed i ON i.id = t.session
         WHERE texts MATCH ? AND i.user = ? ORDER BY rank LIMIT ?`,
      )
      .all(query, user, limit);
    return rows.map((row) => ({
      session: String(row["session"]),
      seq: Number(row["seq"]),
      turn: row["turn"] === null ? null : Number(row["turn"]),
      at: String(row["at"]),
      type: String(row["type"]),
      snippet: String(row["snippet"]),
    }));
  });
}

async function indexTexts(indexing: Indexing): Promise<void> {
  const { home, database } = indexing;
  const rows = database.prepare("SELECT id, position FROM indexed").all();
  const done = new Map(
    rows.map((row) => [String(row["id"]), JSON.parse(String(row["position"])) as Position]),
  );
  for (const { state, position } of await inspectAllWith(home, database)) {
    const from = done.get(state.id);
    done.delete(state.id);
    if (from?.seq === position.seq) continue;
    const isAhead = from !== undefined && from.seq > position.seq;
    if (isAhead) forget(database, state.id);
    await indexSession(indexing, state, isAhead ? undefined : from);
  }
  for (const id of done.keys()) forget(database, id);
}

async function indexSession(
  indexing: Indexing,
  of: { readonly id: string; readonly user: string },
  from: Position | undefined,
): Promise<void> {
  const { home, database } = indexing;
  const dir = sessionDirOf(home, of.id as SessionId);
  let done = from;
  let found: IndexedText[] = [];
  let end: Position | undefined;
  try {
    for await (const scanned of readDurable(dir, from ? { from } : {})) {
      found.push(indexedText(scanned.record, await loadLongFields(dir, scanned.record)));
      end = scanned.end;
      if (found.length < INDEX_BATCH) continue;
      addTexts(database, of, found, { from: done, end });
      [done, found] = [end, []];
    }
  } catch (error) {
    if (!isHoldfastError(error) && errorCode(error) === undefined) throw error;
    // The journal does not continue what was indexed: drop that, and index from the start.
    if (from && done === from && !end) {
      forget(database, of.id);
      return indexSession(indexing, of, undefined);
    }
    // The readable part is searchable. show, log and audit report what can't be read.
  }
  if (end && found.length > 0) addTexts(database, of, found, { from: done, end });
}

/** Does nothing when another process has indexed the texts meanwhile. */
function addTexts(
  database: DatabaseSync,
  { id, user }: { readonly id: string; readonly user: string },
  found: readonly IndexedText[],
  { from, end }: { readonly from: Position | undefined; readonly end: Position },
): void {
  const add = database.prepare(
    "INSERT INTO texts (session, seq, turn, at, type, text) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const mark = database.prepare("INSERT OR REPLACE INTO indexed (id, user, position) VALUES (?, ?, ?)");
  const marked = database.prepare("SELECT position FROM indexed WHERE id = ?");
  transact(database, () => {
    const position = marked.get(id)?.["position"];
    if (position !== (from && JSON.stringify(from))) return;
    for (const { seq, turn, at, type, text } of found) add.run(id, seq, turn, at, type, text);
    mark.run(id, user, JSON.stringify(end));
  });
}

function forget(database: DatabaseSync, id: string): void {
  transact(database, () => {
    database.prepare("DELETE FROM texts WHERE session = ?").run(id);
    database.prepare("DELETE FROM indexed WHERE id = ?").run(id);
  });
}

function indexedText(record: JournalRecord, data: JsonObject): IndexedText {
  const { seq, at, type } = record;
  const turn = typeof data["turn"] === "number" ? data["turn"] : null;
  return { seq, turn, at, type, text: textsOf(wordsOf(data)).join("\n") };
}

function wordsOf(data: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(data).filter(([field]) => !NOT_WORDS.has(field)));
}

/** Fields that identify and do not describe: people do not search for them by words. */
const NOT_WORDS = new Set([
  "session",
  "user",
  "parent",
  "parentHash",
  "role",
  "call",
  "outcome",
  "fromHome",
  "headHash",
]);

function textsOf(value: unknown, levels = MAX_DEPTH): string[] {
  if (typeof value === "string") return [value.slice(0, MAX_INDEXED_CHARS)];
  if (typeof value !== "object" || value === null || levels === 0) return [];
  return Object.values(value).flatMap((item) => textsOf(item, levels - 1));
}
