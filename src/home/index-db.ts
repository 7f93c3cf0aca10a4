/**
 * Owns `index.db`, a cache over all sessions, for lists and for search. The journals are the truth.
 * index-1 Deleting it changes nothing but the duration of the next call.
 */
import { chmodSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { MACHINE_VERSION } from "../session/index.ts";
import { errorCode, indexPath, isDiskFull } from "../util/index.ts";
import type { Home } from "./home.ts";

const INDEX_VERSION = 1;

const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = OFF;
  CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, stamp TEXT NOT NULL, inspected TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS indexed (id TEXT PRIMARY KEY, user TEXT NOT NULL, position TEXT NOT NULL);
  CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(session UNINDEXED, seq UNINDEXED, turn UNINDEXED, at UNINDEXED, type UNINDEXED, text);
`;

/** Opens the index for one piece of work. A spoiled index is rebuilt, once (index-1). */
export async function withIndex<T>(home: Home, work: (database: DatabaseSync) => Promise<T>): Promise<T> {
  const path = indexPath(home.dir);
  try {
    using database = openDatabase(path);
    return await work(database);
  } catch (error) {
    if (isDiskFull(error) && !(await home.io.disk.makeRoom())) throw error;
    if (errorCode(error) !== "ERR_SQLITE_ERROR" && !(error instanceof SyntaxError)) throw error;
  }
  removeIndex(home);
  using database = openDatabase(path);
  return await work(database);
}

/** index-1: the next call rebuilds it. */
export function removeIndex(home: Home): void {
  removeDatabase(indexPath(home.dir));
}

export function transact(database: DatabaseSync, work: () => void): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    work();
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

/** Replaces a spoiled cache. If no file can be written at all, the index is kept in memory. */
function openDatabase(path: string): DatabaseSync {
  try {
    return tryDatabase(path);
  } catch {
    // It is not a database, has another version, or is not readable.
  }
  try {
    removeDatabase(path);
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

function removeDatabase(path: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
}
