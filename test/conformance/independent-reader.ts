/**
 * A second reader of sessions and export files, written from docs/format.md alone. It shares nothing with
 * src: where the two disagree, one of them or the page is wrong. It reads sessions at rest, whole files at a
 * time, without syncing and without the cached fold.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import {
  check,
  Damage,
  isCount,
  isObject,
  isPosition,
  type Json,
  LF,
  parseJson,
  readSealed,
  sha256,
} from "./independent-form.ts";
import { type Files, findWay, type ReadRecord, readJournal } from "./independent-journal.ts";

export type ReadResult =
  | { kind: "whole"; records: ReadRecord[]; tornBytes: number }
  | { kind: "damaged"; records: ReadRecord[]; file: string; offset: number; reason: string };

const MESSAGE = /^inbox\/new\/\d{12}-([a-z0-9_]{1,64})$/;
const ARTIFACT = /^tasks\/[1-9]\d*\/artifacts\/(?!\.tmp-|\.*$)[^/\\\p{Cc}]+$/u;

/** Reads a session directory (sessions/<session>). */
export function readSession(sessionDir: string): ReadResult {
  const files: Files = (path) => readStored(join(sessionDir, path), path);
  const records: ReadRecord[] = [];
  try {
    const named = readSealed(files("session.json"), "session.json");
    const { head, isFinal } = readSealed(files("head.json"), "head.json");
    check(isPosition(head) && typeof isFinal === "boolean", "head.json", 0, "it lacks head or isFinal");
    const journal = join(sessionDir, "journal");
    const way = findWay(files, existsSync(journal) ? readdirSync(journal) : []);
    const tornBytes = readJournal(way, { files, head, isFinal, records });
    for (const [field, value] of Object.entries(identityOf(records)))
      check(named[field] === value, "session.json", 0, `its ${field} is not the journal's`);
    return { kind: "whole", records, tornBytes };
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    return { kind: "damaged", records, file: error.file, offset: error.offset, reason: error.message };
  }
}

/** What session.json must say. */
function identityOf(records: ReadRecord[]): Json {
  let identity: Json = {};
  for (const { type, data, at } of records) {
    const { session, user, agent = null, repo = null } = data;
    if (type === "session_opened" || type === "session_forked")
      identity = { session, user, agent, repo, createdAt: at };
    if (type === "session_imported") identity = { ...identity, user, repo };
  }
  return identity;
}

/** Reads an export file wholly and verifies it as an importer must. Throws on any defect. */
export function readExport(file: string): { session: string; records: ReadRecord[] } {
  const stream = decompress(readFileSync(file), file);
  const start = stream.indexOf(LF) + 1;
  const { kind, session, head, files: list } = readSealed(stream.subarray(0, start), file);
  check(kind === "export" && typeof session === "string", file, 0, "this is not the manifest of an export");
  check(isPosition(head) && Array.isArray(list), file, 0, "the manifest has no head or no files");
  const contents = unpack(stream.subarray(start), list, file);
  const files: Files = (path) => contents.get(path);
  const segments = [...contents.keys()].filter((path) => path.startsWith("journal/"));
  const way = findWay(files, segments);
  check(way.length === segments.length, file, 0, "a segment is not part of the journal");
  for (const [index, { number, path, bytes }] of way.entries()) {
    const end = way[index + 1]?.prev ?? head;
    check(number === end.segment && bytes.length === end.bytes, path, 0, "it does not end where it should");
  }
  const records: ReadRecord[] = [];
  const tornBytes = readJournal(way, { files, head, isFinal: true, records });
  check(tornBytes === 0 && records.length === head.seq, file, 0, "the journal does not end at its head");
  checkHomes(contents, records);
  checkMessages(contents, records);
  checkArtifacts(contents, records);
  return { session, records };
}

// What an export has beside the journal

function checkHomes(contents: Map<string, Buffer>, records: ReadRecord[]): void {
  const bytes = contents.get("homes.json");
  if (!bytes) return;
  const { kind, homes } = readSealed(bytes, "homes.json");
  check(kind === "homes" && isObject(homes), "homes.json", 0, "it is no table of HOME");
  check(contents.has("snapshots.pack"), "homes.json", 0, "there is no pack");
  const named = new Set<unknown>();
  for (const { type, data } of records) {
    const { home } = data;
    if (!["snapshot_taken", "task_started", "session_imported"].includes(type) || !isObject(home)) continue;
    named.add(home["snapshot"]);
  }
  for (const key of Object.keys(homes))
    check(named.has(key), "homes.json", 0, `${key} is not named by the journal`);
}

function checkMessages(contents: Map<string, Buffer>, records: ReadRecord[]): void {
  const known = new Set<unknown>();
  for (const { type, data } of records)
    if (type === "message_received" || type === "message_set_aside") known.add(data["message"]);
  for (const [path, bytes] of contents) {
    const id = MESSAGE.exec(path)?.[1];
    if (id === undefined) continue;
    const envelope = parseJson(bytes);
    const isOne = isObject(envelope) && envelope["kind"] === "message" && envelope["id"] === id;
    check(isOne && !known.has(id), path, 0, "it is no message, or one that is known");
    known.add(id);
  }
}

function checkArtifacts(contents: Map<string, Buffer>, records: ReadRecord[]): void {
  const named = new Map<string, Json>();
  for (const { type, data } of records) {
    if (type === "session_forked") named.clear();
    if (type === "artifact_written") named.set(`tasks/${data["task"]}/artifacts/${data["name"]}`, data);
  }
  for (const [path, content] of contents) {
    if (!path.startsWith("tasks/")) continue;
    const { bytes, sha256: hash } = named.get(path) ?? {};
    check(content.length === bytes && sha256(content) === hash, path, 0, "it is not what the journal says");
  }
}

// Files

function readStored(file: string, path: string): Buffer | undefined {
  if (existsSync(file)) return readFileSync(file);
  return existsSync(`${file}.zst`) ? decompress(readFileSync(`${file}.zst`), path) : undefined;
}

/** The first zstd frame; what follows it is left out. */
function decompress(compressed: Buffer, file: string): Buffer {
  try {
    return zstdDecompressSync(compressed);
  } catch {
    throw new Damage(file, 0, "it cannot be decompressed");
  }
}

/** The files that follow an export's manifest, each checked, by their paths. */
function unpack(stream: Buffer, list: unknown[], file: string): Map<string, Buffer> {
  const contents = new Map<string, Buffer>();
  let offset = 0;
  for (const entry of list) {
    const { path, bytes, sha256: hash } = isObject(entry) ? entry : {};
    check(typeof path === "string" && isCount(bytes), file, 0, "the list of files is wrong");
    const allowed =
      /^journal\/\d{6,}\.jsonl$/.test(path) ||
      path === `blobs/${hash}` ||
      path === "snapshots.pack" ||
      path === "homes.json" ||
      MESSAGE.test(path) ||
      ARTIFACT.test(path);
    check(allowed && !contents.has(path), file, 0, `${path} may not be there`);
    const content = stream.subarray(offset, offset + bytes);
    check(content.length === bytes && sha256(content) === hash, path, 0, "its bytes or its hash do not fit");
    contents.set(path, content);
    offset += bytes;
  }
  check(offset === stream.length, file, 0, "something stands behind the last file");
  return contents;
}
