/**
 * Owns `index.db`: a cache over all sessions, for lists and for search. The journals are the truth.
 * X1 Deleting it changes nothing but the time of the next call. X2 A row is used only while the files it was
 * made from are as they were.
 */
import { chmodSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isHoldfastError, type JournalRecord, type JsonObject, type SessionId } from "../contract/index.ts";
import {
  journalDir,
  loadLongFields,
  MAX_DEPTH,
  type Position,
  readDurable,
  segmentName,
  WITNESS_FILE,
} from "../journal/index.ts";
import { type CachedFold, type Inspected, MACHINE_VERSION } from "../session/index.ts";
import { errorCode, isDiskFull } from "../util/index.ts";
import { type Home, inspectIn, listSessionIds, sessionDirOf } from "./home.ts";

const INDEX_FILE = "index.db";
const INDEX_VERSION = 1;
/** Records that are indexed in one transaction. */
const INDEX_BATCH = 1000;
/** File systems tell times apart only if they are this far from each other. */
const TIMESTAMP_GRAIN_MS = 50;
/** Of one text, this much is searchable. */
const MAX_INDEXED_CHARS = 64 * 1024;

const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = OFF;
  CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, stamp TEXT NOT NULL, inspected TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS indexed (id TEXT PRIMARY KEY, user TEXT NOT NULL, position TEXT NOT NULL);
  CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(session UNINDEXED, seq UNINDEXED, turn UNINDEXED, at UNINDEXED, type UNINDEXED, text);
`;

export interface SearchHit {
  readonly session: string;
  readonly seq: number;
  readonly turn: number | null;
  readonly at: string;
  readonly type: string;
  readonly snippet: string;
}

interface IndexedText {
  readonly seq: number;
  readonly turn: number | null;
  readonly at: string;
  readonly type: string;
  readonly text: string;
}

export class SessionIndex implements Disposable {
  readonly #home: Home;
  readonly #database: DatabaseSync;

  private constructor(home: Home, database: DatabaseSync) {
    this.#home = home;
    this.#database = database;
  }

  /** Opens the index for one piece of work. One that turns out to be spoiled is made anew, once (X1). */
  static async use<T>(home: Home, work: (index: SessionIndex) => Promise<T>): Promise<T> {
    try {
      using index = new SessionIndex(home, openDatabase(join(home.dir, INDEX_FILE)));
      return await work(index);
    } catch (error) {
      if (isDiskFull(error) && !(await home.ports.disk.makeRoom())) throw error;
      if (errorCode(error) !== "ERR_SQLITE_ERROR" && !(error instanceof SyntaxError)) throw error;
    }
    SessionIndex.remove(home);
    using index = new SessionIndex(home, openDatabase(join(home.dir, INDEX_FILE)));
    return await work(index);
  }

  /** X1: the next call makes it anew. */
  static remove(home: Home): void {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(join(home.dir, INDEX_FILE + suffix), { force: true });
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  /** Every session that has a record, oldest first. */
  async inspectAll(): Promise<Inspected[]> {
    const ids = await listSessionIds(this.#home);
    const rows = this.#database.prepare("SELECT id, stamp, inspected FROM sessions").all();
    const known = new Map(rows.map((row) => [String(row["id"]), row]));
    const changed: { id: SessionId; stamp: string; inspected: Inspected }[] = [];
    const all: Inspected[] = [];
    for (const id of ids) {
      const row = known.get(id);
      known.delete(id);
      const cached = row && (JSON.parse(String(row["inspected"])) as Inspected);
      const dir = sessionDirOf(this.#home, id);
      // Before the look: what changes during it makes the row stale, not wrong.
      const stamp = stampOf(dir, this.#home.ports.clock.nowMs());
      const isFresh = cached !== undefined && row?.["stamp"] === stamp && endsAt(dir, cached.position);
      const inspected = isFresh ? cached : await this.#inspect(id, usable(cached));
      // What is damaged may be mended without a trace in the directory: it is looked at each time.
      if (!isFresh && !inspected.damage) changed.push({ id, inspected, stamp });
      if (inspected.state.seq > 0 || inspected.damage) all.push(inspected);
    }
    if (changed.length > 0 || known.size > 0) this.#update(changed, [...known.keys()]);
    return all;
  }

  /** A row is no witness: what does not continue it is looked at without it. */
  async #inspect(id: SessionId, row: CachedFold | undefined): Promise<Inspected> {
    const inspected = await inspectIn(this.#home, id, row);
    return row && inspected.damage ? inspectIn(this.#home, id) : inspected;
  }

  async search(words: readonly string[], user: string, limit: number): Promise<SearchHit[]> {
    await this.#indexTexts();
    // Each word as a quoted string: nothing in it is query syntax.
    const query = words.map((word) => `"${word.replaceAll('"', '""')}"`).join(" ");
    const rows = this.#database
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
  }

  #update(
    changed: readonly { id: string; stamp: string; inspected: Inspected }[],
    gone: readonly string[],
  ): void {
    const put = this.#database.prepare(
      "INSERT OR REPLACE INTO sessions (id, stamp, inspected) VALUES (?, ?, ?)",
    );
    const remove = this.#database.prepare("DELETE FROM sessions WHERE id = ?");
    this.#transact(() => {
      for (const { id, stamp, inspected } of changed) put.run(id, stamp, JSON.stringify(inspected));
      for (const id of gone) remove.run(id);
    });
  }

  /** Brings the full text up to date: only what was appended since the last time is read. */
  async #indexTexts(): Promise<void> {
    const rows = this.#database.prepare("SELECT id, position FROM indexed").all();
    const done = new Map(
      rows.map((row) => [String(row["id"]), JSON.parse(String(row["position"])) as Position]),
    );
    for (const { state, position } of await this.inspectAll()) {
      const from = done.get(state.id);
      done.delete(state.id);
      if (from && from.seq > position.seq) this.#transact(() => this.#forget(state.id));
      const isBehind = !from || from.seq !== position.seq;
      if (isBehind)
        await this.#indexSession(state.id, state.user, from && from.seq > position.seq ? undefined : from);
    }
    for (const id of done.keys()) this.#transact(() => this.#forget(id));
  }

  async #indexSession(id: string, user: string, from: Position | undefined): Promise<void> {
    const dir = sessionDirOf(this.#home, id as SessionId);
    let done = from;
    let found: IndexedText[] = [];
    let end: Position | undefined;
    try {
      for await (const scanned of readDurable(dir, from ? { from } : {})) {
        found.push(indexedText(scanned.record, await loadLongFields(dir, scanned.record)));
        end = scanned.end;
        if (found.length < INDEX_BATCH) continue;
        this.#addTexts(id, user, found, done, end);
        [done, found] = [end, []];
      }
    } catch (error) {
      if (!isHoldfastError(error) && errorCode(error) === undefined) throw error;
      // Not a continuation of what was indexed: forget that, and begin at the start.
      if (from && done === from && !end) {
        this.#transact(() => this.#forget(id));
        return this.#indexSession(id, user, undefined);
      }
      // What can be read is searchable; show, log and audit say what can't.
    }
    if (end && found.length > 0) this.#addTexts(id, user, found, done, end);
  }

  /** Does nothing when another process was faster: the texts are there then. */
  #addTexts(
    id: string,
    user: string,
    found: readonly IndexedText[],
    from: Position | undefined,
    end: Position,
  ): void {
    const add = this.#database.prepare(
      "INSERT INTO texts (session, seq, turn, at, type, text) VALUES (?, ?, ?, ?, ?, ?)",
    );
    const mark = this.#database.prepare(
      "INSERT OR REPLACE INTO indexed (id, user, position) VALUES (?, ?, ?)",
    );
    const marked = this.#database.prepare("SELECT position FROM indexed WHERE id = ?");
    this.#transact(() => {
      const position = marked.get(id)?.["position"];
      if (position !== (from && JSON.stringify(from))) return;
      for (const { seq, turn, at, type, text } of found) add.run(id, seq, turn, at, type, text);
      mark.run(id, user, JSON.stringify(end));
    });
  }

  #forget(id: string): void {
    this.#database.prepare("DELETE FROM texts WHERE session = ?").run(id);
    this.#database.prepare("DELETE FROM indexed WHERE id = ?").run(id);
  }

  #transact(work: () => void): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.#database.exec("COMMIT");
    } catch (error) {
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }
}

/** A spoiled cache is thrown away, and one that can't be kept at all lives in memory. */
function openDatabase(path: string): DatabaseSync {
  try {
    return tryDatabase(path);
  } catch {
    // Not a database, of another version, or not readable.
  }
  try {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
    return tryDatabase(path);
  } catch {
    return tryDatabase(":memory:");
  }
}

function tryDatabase(path: string): DatabaseSync {
  const version = INDEX_VERSION * 1000 + MACHINE_VERSION;
  const database = new DatabaseSync(path, { timeout: 5000 });
  try {
    if (path !== ":memory:") chmodSync(path, 0o600);
    const found = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (found !== version && found !== 0) throw new Error(`the index has version ${found}`);
    database.exec(`${schema} PRAGMA user_version = ${version};`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Changes whenever a segment is added to the journal or compressed, and with the witness. While the change is so young that
 * another could carry the same time, it equals no other stamp.
 */
function stampOf(sessionDir: string, nowMs: number): string {
  const directory = statSync(journalDir(sessionDir), { throwIfNoEntry: false, bigint: true });
  const witness = statSync(join(sessionDir, WITNESS_FILE), { throwIfNoEntry: false, bigint: true });
  const ageMs = nowMs - Number((directory?.mtimeNs ?? 0n) / 1_000_000n);
  const stamp = `${directory?.mtimeNs}:${witness?.mtimeNs}:${witness?.size}`;
  return ageMs > TIMESTAMP_GRAIN_MS ? stamp : `young ${nowMs}`;
}

/** Whether the last segment still has the length that was read. A compressed one can't grow. */
function endsAt(sessionDir: string, { segment, bytes }: Position): boolean {
  const last = statSync(join(journalDir(sessionDir), segmentName(segment)), { throwIfNoEntry: false });
  return last === undefined || last.size === bytes;
}

function usable(cached: Inspected | undefined): CachedFold | undefined {
  return cached && !cached.damage && cached.state.seq > 0 ? cached : undefined;
}

function indexedText(record: JournalRecord, data: JsonObject): IndexedText {
  const { seq, at, type } = record;
  const turn = typeof data["turn"] === "number" ? data["turn"] : null;
  return { seq, turn, at, type, text: textsOf(wordsOf(data)).join("\n") };
}

function wordsOf(data: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(data).filter(([field]) => !NOT_WORDS.has(field)));
}

/** What says who and where, not what: nobody looks for it by words. */
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
