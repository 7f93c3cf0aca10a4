/**
 * Owns `feed.db`: one order for the records of all sessions of a home, for programs that follow them together. The
 * journals are the truth, but have no order among each other. The feed numbers their records as it finds them.
 *
 * stream-1 A follower that continues after a cursor gets every record that follows it, once, also after a crash or when
 *    another process looked meanwhile. Where the feed can't promise that, it refuses the cursor.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { HoldfastError, isHoldfastError, type JournalRecord, type SessionId } from "../contract/index.ts";
import { JOURNAL_START, journalStamp, loadLongFields, type Position, readDurable } from "../journal/index.ts";
import { feedPath } from "../util/index.ts";
import { inspectIn, listSessionIds } from "./finding.ts";
import { type Home, sessionDirOf } from "./home.ts";
import { transact } from "./index-db.ts";

const FEED_VERSION = 1;
/** A stream can continue after any of the last 100,000 records. */
const KEPT = 100_000;
const BATCH = 200;

const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS feed (n INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, seq INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS seen (session TEXT PRIMARY KEY, user TEXT NOT NULL, seq INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS identity (id TEXT NOT NULL);
`;

/** One record of one of the sessions. */
export interface FeedRecord {
  /** Where to continue: `after` this, the next one comes. */
  readonly cursor: string;
  readonly session: string;
  readonly record: JournalRecord;
}

export class Feed implements Disposable {
  readonly #home: Home;
  readonly #database: DatabaseSync;
  readonly #id: string;
  /** How far each journal was read here; a cache. */
  readonly #stamps = new Map<string, string>();
  readonly #found = new Map<string, Position>();
  readonly #handedOut = new Map<string, Position>();

  private constructor(home: Home, database: DatabaseSync, id: string) {
    this.#home = home;
    this.#database = database;
    this.#id = id;
  }

  /** A feed that is new begins with what is appended from now on. */
  static async open(home: Home): Promise<Feed> {
    const database = openDatabase(feedPath(home.dir));
    try {
      return new Feed(home, database, identityOf(database) ?? (await begin(home, database)));
    } catch (error) {
      database.close();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  /** Where the feed ends now. */
  end(): string {
    return this.#cursor(this.#lastNumber());
  }

  /** Takes in what was appended since the last look, to any session. */
  async look(): Promise<void> {
    const ids = await listSessionIds(this.#home);
    this.#forget(ids);
    for (const id of ids) {
      const dir = sessionDirOf(this.#home, id);
      // Before the look: what is appended during it makes the stamp an old one.
      const stamp = journalStamp(dir);
      if (this.#stamps.get(id) === stamp) continue;
      await this.#take(id, dir);
      this.#stamps.set(id, stamp);
    }
    this.#database.prepare("DELETE FROM feed WHERE n <= ?").run(this.#lastNumber() - KEPT);
  }

  /** Fails if the feed can't be continued after this cursor. */
  assertCursor(cursor: string): void {
    this.#numberOf(cursor);
  }

  /** The records of a user's sessions after a cursor, oldest first; of every user's, where none is named. */
  async *after(cursor: string, user: string | undefined): AsyncGenerator<FeedRecord> {
    let number = this.#numberOf(cursor);
    const query = this.#database.prepare(
      "SELECT n, feed.session AS session, feed.seq AS seq, user FROM feed JOIN seen ON feed.session = seen.session WHERE n > ? ORDER BY n LIMIT ?",
    );
    for (;;) {
      const rows = query.all(number, BATCH);
      for (const row of rows) {
        number = Number(row["n"]);
        if (user !== undefined && row["user"] !== user) continue;
        const session = String(row["session"]);
        const record = await this.#read(session as SessionId, Number(row["seq"]));
        if (record) yield { cursor: this.#cursor(number), session, record };
      }
      if (rows.length < BATCH) return;
    }
  }

  #cursor(number: number): string {
    return `${this.#id}.${number}`;
  }

  #numberOf(cursor: string): number {
    const [, id, digits] = /^([0-9a-f]{16})\.(\d{1,15})$/.exec(cursor) ?? [];
    if (id === undefined)
      throw new HoldfastError("invalid_data", "the cursor is not one that a stream of this home gave");
    const number = Number(digits);
    const oldest = Number(this.#database.prepare("SELECT min(n) AS n FROM feed").get()?.["n"] ?? 0);
    if (id !== this.#id || number > this.#lastNumber() || number < oldest - 1)
      throw new HoldfastError("cursor_unknown", "the stream can't be continued after that cursor", {
        cursor,
      });
    return number;
  }

  /** Also of rows that were deleted: a number is never used again. */
  #lastNumber(): number {
    const row = this.#database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'feed'").get();
    return Number(row?.["seq"] ?? 0);
  }

  /** A session that was removed may come back as an older copy: then it is a new one. */
  #forget(ids: readonly string[]): void {
    const there = new Set(ids);
    const remove = this.#database.prepare("DELETE FROM seen WHERE session = ?");
    for (const row of this.#database.prepare("SELECT session FROM seen").all()) {
      const id = String(row["session"]);
      if (there.has(id)) continue;
      remove.run(id);
      for (const known of [this.#stamps, this.#found, this.#handedOut]) known.delete(id);
    }
  }

  async #take(id: SessionId, dir: string): Promise<void> {
    const known = this.#database.prepare("SELECT seq FROM seen WHERE session = ?").get(id)?.["seq"];
    const user = known === undefined ? await this.#meet(id) : undefined;
    if (known === undefined && user === undefined) return;
    let position = this.#found.get(id) ?? JOURNAL_START;
    // Nothing was appended since the last look, by whichever process: so there is nothing to read.
    if (position.seq === 0 && known !== undefined && (await this.#seqOf(id)) === Number(known)) return;
    try {
      for await (const { end } of readDurable(dir, { from: position })) position = end;
    } catch (error) {
      // What is damaged is shown as damaged by every list. What stands before the damage is handed out.
      if (!isHoldfastError(error)) throw error;
    }
    this.#found.set(id, position);
    const seen = this.#database.prepare("SELECT seq FROM seen WHERE session = ?");
    const add = this.#database.prepare("INSERT INTO feed (session, seq) VALUES (?, ?)");
    const move = this.#database.prepare("UPDATE seen SET seq = ? WHERE session = ?");
    transact(this.#database, () => {
      // Another process may have looked by now.
      const from = Number(seen.get(id)?.["seq"] ?? 0);
      for (let seq = from + 1; seq <= position.seq; seq += 1) add.run(id, seq);
      if (position.seq > from) move.run(position.seq, id);
    });
  }

  async #seqOf(id: SessionId): Promise<number> {
    return (await inspectIn(this.#home, id)).state.seq;
  }

  /** A session that is new. What a fork has of its parent was handed out as the parent's. */
  async #meet(id: SessionId): Promise<string | undefined> {
    const { state } = await inspectIn(this.#home, id);
    if (state.seq === 0) return undefined;
    const put = this.#database.prepare("INSERT OR IGNORE INTO seen (session, user, seq) VALUES (?, ?, ?)");
    put.run(id, state.user, state.parent?.seq ?? 0);
    return state.user;
  }

  /** Undefined: the session was removed, or is damaged by now. */
  async #read(id: SessionId, seq: number): Promise<JournalRecord | undefined> {
    const dir = sessionDirOf(this.#home, id);
    const before = this.#handedOut.get(id);
    const from = before && before.seq < seq ? before : JOURNAL_START;
    try {
      for await (const { record, end } of readDurable(dir, { from })) {
        if (record.seq < seq) continue;
        this.#handedOut.set(id, end);
        return { ...record, data: await loadLongFields(dir, record) };
      }
    } catch (error) {
      if (!isHoldfastError(error)) throw error;
    }
    return undefined;
  }
}

/** A spoiled feed is made anew, under another identity: its cursors are refused. */
function openDatabase(path: string): DatabaseSync {
  try {
    return tryDatabase(path);
  } catch {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
    return tryDatabase(path);
  }
}

function tryDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 5000 });
  try {
    chmodSync(path, 0o600);
    const found = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (found !== FEED_VERSION && found !== 0) throw new Error(`the feed has version ${found}`);
    database.exec(`${schema} PRAGMA user_version = ${FEED_VERSION};`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Undefined: the feed is new. */
function identityOf(database: DatabaseSync): string | undefined {
  const id = database.prepare("SELECT id FROM identity").get()?.["id"];
  return id === undefined ? undefined : String(id);
}

/** The identity comes with the heads of all journals, so that a feed that has one has begun. */
async function begin(home: Home, database: DatabaseSync): Promise<string> {
  const heads: [string, string, number][] = [];
  for (const id of await listSessionIds(home)) {
    const { state } = await inspectIn(home, id);
    heads.push([id, state.user, state.seq]);
  }
  const id = randomBytes(8).toString("hex");
  const name = database.prepare(
    "INSERT INTO identity (id) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM identity)",
  );
  const put = database.prepare("INSERT OR IGNORE INTO seen (session, user, seq) VALUES (?, ?, ?)");
  transact(database, () => {
    // Another process may have begun it by now.
    if (name.run(id).changes > 0) for (const head of heads) put.run(...head);
  });
  return identityOf(database) ?? id;
}
