/**
 * A second reader of sessions and export files, written from docs/format.md alone. It shares nothing with
 * src: where the two disagree, one of them or the page is wrong. It reads sessions at rest, whole files at a
 * time, without syncing and without the cached fold.
 */

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";

export interface ReadRecord {
  seq: number;
  at: string;
  epoch: number;
  durable: number;
  type: string;
  data: Record<string, unknown>;
  redacted?: string[];
  hash: string;
}

export type ReadResult =
  | { kind: "whole"; records: ReadRecord[]; tornBytes: number }
  | { kind: "damaged"; records: ReadRecord[]; file: string; offset: number; reason: string };

type Json = Record<string, unknown>;
/** What stands at a path like "journal/000001.jsonl", uncompressed; undefined where nothing does. */
type Files = (path: string) => Buffer | undefined;
type Position = { segment: number; bytes: number; seq: number; hash: string };
type Segment = { path: string; number: number; start: number; prev: Position | null; bytes: Buffer };
/** What is read of a journal; `records` keeps the good ones when damage is thrown. */
type Journal = { files: Files; head: Position; isFinal: boolean; records: ReadRecord[] };

const FORMAT = 1;
const LF = 0x0a;
const MAX_LINE = 1024 * 1024;
const SEAL = /^,"hash":"[0-9a-f]{64}"\}\n$/;
const SEGMENT = /^(?:journal\/)?(\d{6,})\.jsonl(?:\.zst)?$/;
const MESSAGE = /^inbox\/new\/\d{12}-([a-z0-9_]{1,64})$/;
const ARTIFACT = /^tasks\/[1-9]\d*\/artifacts\/(?!\.tmp-|\.*$)[^/\\\p{Cc}]+$/u;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ORDER = /^\{"seq":\d+,"at":"[^"]*","epoch":\d+,"durable":\d+,"type":"[^"]*","data":\{/;
const START = { segment: 0, bytes: 0, seq: 0, hash: "0".repeat(64), at: "" };

class Damage extends Error {
  readonly file: string;
  readonly offset: number;

  constructor(file: string, offset: number, reason: string) {
    super(`${file}, byte ${offset}: ${reason}`);
    this.file = file;
    this.offset = offset;
  }
}

function check(good: boolean, file: string, offset: number, reason: string): asserts good {
  if (!good) throw new Damage(file, offset, reason);
}

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

// Sealed lines

/** The object in a line that has the form of a sealed one; whether its hash fits is not asked. */
function parseSealed(line: Buffer): Json | undefined {
  const value = SEAL.test(line.subarray(-76).toString("latin1")) ? parseJson(line) : undefined;
  return isObject(value) ? value : undefined;
}

function fits(line: Buffer, salt: string): boolean {
  const body = line.subarray(0, -76);
  return sha256(Buffer.concat([Buffer.from(salt), body])) === line.subarray(-67, -3).toString("latin1");
}

/** The object in a file or header that is one sealed line with an empty salt. */
function readSealed(line: Buffer | undefined, file: string): Json {
  check(line !== undefined && line.indexOf(LF) === line.length - 1, file, 0, "it is missing or not one line");
  const value = parseSealed(line);
  check(value !== undefined && fits(line, ""), file, 0, "its hash does not fit");
  check(!repeatsKey(line), file, 0, "an object in it has a key twice");
  const format = value["holdfast"] ?? FORMAT;
  check(isCount(format) && format <= FORMAT, file, 0, `it has format ${format}`);
  return value;
}

// Which segments count

/** The segments of the journal, oldest first: from the last one back, as each names the one before. */
function findWay(files: Files, names: string[]): Segment[] {
  const numbers = names.map((name) => Number(SEGMENT.exec(name)?.[1] ?? 0));
  const descending = numbers.filter((number) => number > 0).sort((a, b) => b - a);
  let next = descending.find((number) => hasHeader(files(segmentPath(number)))) ?? 1;
  const way: Segment[] = [];
  while (next > 0) {
    const segment = openSegment(files, next);
    way.unshift(segment);
    next = segment.prev?.segment ?? 0;
  }
  return way;
}

function segmentPath(number: number): string {
  return `journal/${String(number).padStart(6, "0")}.jsonl`;
}

/** Whether there is a header, whole or damaged. Without a line feed, or with a zero first, there is none yet. */
function hasHeader(bytes: Buffer | undefined): boolean {
  return bytes?.includes(LF) === true && bytes[0] !== 0;
}

function openSegment(files: Files, number: number): Segment {
  const path = segmentPath(number);
  const bytes = files(path) ?? Buffer.alloc(0);
  const start = bytes.indexOf(LF) + 1;
  const { segment, prev } = readSealed(bytes.subarray(0, start), path);
  check(segment === number, path, 0, "its header has another number");
  check(prev === null || isPosition(prev), path, 0, "its prev is not a position");
  check(prev === null || (prev.segment > 0 && prev.segment < number), path, 0, "its prev does not lead back");
  return { path, number, start, prev, bytes };
}

// Records

/** Reads all records; returns how many bytes of the last segment are a torn tail. */
function readJournal(way: Segment[], journal: Journal): number {
  const { head, isFinal, records } = journal;
  let tornBytes = 0;
  for (const [index, segment] of way.entries()) {
    const { path, bytes, number } = segment;
    const next = way[index + 1]?.prev;
    const named = next ?? (isFinal && head.segment === number ? head : undefined);
    const end = named?.bytes ?? bytes.length;
    const stop = readSegment(segment, end, journal, named ? Number.POSITIVE_INFINITY : head.seq);
    const { seq, hash } = records.at(-1) ?? START;
    const fitting = named ? stop === end && seq === named.seq && hash === named.hash : seq >= head.seq;
    check(fitting, path, stop, "this is not the end that the next segment or the head names");
    check(next !== undefined || end === bytes.length, path, end, "something stands behind the head");
    tornBytes = end - stop;
  }
  return tornBytes;
}

/** Reads a segment's records up to `end`; returns where it stopped, which is before a torn tail. */
function readSegment(segment: Segment, end: number, { files, head, records }: Journal, mark: number): number {
  const { path, bytes, start } = segment;
  let offset = start;
  for (const line of linesOf(bytes.subarray(start, end))) {
    const before = records.at(-1) ?? START;
    const seq = before.seq + 1;
    const record = parseRecord(line);
    if (record?.seq !== seq) {
      const torn = seq > mark && seq > highestDurable(bytes.subarray(offset));
      check(torn, path, offset, `this is not record ${seq}, which was on disk`);
      return offset;
    }
    check(fits(line, before.hash), path, offset, "its hash does not fit");
    check(ORDER.test(line.toString("latin1")), path, offset, "its fields are not in their order");
    check(!repeatsKey(line), path, offset, "an object in it has a key twice");
    check(seq !== head.seq || record.hash === head.hash, path, offset, "the head has another hash");
    check(TIME.test(record.at) && record.at >= before.at, path, offset, "its time is wrong");
    check(record.durable < seq, path, offset, "its durable is not below its seq");
    check(seq > 1 || record.type === "session_opened", path, offset, "the first is not session_opened");
    records.push({ ...record, data: withBlobs(record.data, files, path, offset) });
    offset += line.length;
  }
  return offset;
}

/** The lines, each with its line feed; the last may have none. */
function* linesOf(bytes: Buffer): Generator<Buffer> {
  for (let offset = 0; offset < bytes.length; ) {
    const end = bytes.indexOf(LF, offset) + 1 || bytes.length;
    yield bytes.subarray(offset, end);
    offset = end;
  }
}

function highestDurable(bytes: Buffer): number {
  let highest = 0;
  for (const line of linesOf(bytes)) highest = Math.max(highest, parseRecord(line)?.durable ?? 0);
  return highest;
}

/** The record in a line that is sealed and has all fields; whether it is a good one is not asked. */
function parseRecord(line: Buffer): ReadRecord | undefined {
  const value = line.length - 1 <= MAX_LINE ? parseSealed(line) : undefined;
  if (value === undefined) return undefined;
  const { seq, at, epoch, durable, type, data, redacted, hash } = value;
  if (!isCount(seq) || !isCount(epoch) || !isCount(durable) || !isObject(data)) return undefined;
  if (typeof at !== "string" || typeof type !== "string" || typeof hash !== "string") return undefined;
  if (redacted === undefined) return { seq, at, epoch, durable, type, data, hash };
  const rules = Array.isArray(redacted) && redacted.every((rule) => typeof rule === "string");
  return rules ? { seq, at, epoch, durable, type, data, redacted, hash } : undefined;
}

/** The data with its long fields in their places. What names them wrongly is damage of the line at `offset`. */
function withBlobs(data: Json, files: Files, path: string, offset: number): Json {
  const fields = Object.entries(data).map(([name, value]) => {
    if (!isObject(value) || !("$blob" in value)) return [name, value];
    const { sha256: hash, bytes, as } = isObject(value["$blob"]) ? value["$blob"] : {};
    const named = typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash) && (as === "text" || as === "json");
    check(named, path, offset, "it does not name its blob");
    const blob = files(`blobs/${hash}`) ?? Buffer.alloc(0);
    check(blob.length === bytes && sha256(blob) === hash, `blobs/${hash}`, 0, "it is missing or wrong");
    const content = as === "text" ? decodeText(blob) : parseJson(blob);
    const good = content !== undefined && (as === "text" || !repeatsKey(blob));
    check(good, `blobs/${hash}`, 0, `it is not ${as}`);
    return [name, content];
  });
  return Object.fromEntries(fields);
}

// Values

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function decodeText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(decodeText(bytes) ?? "");
  } catch {
    return undefined;
  }
}

/** Whether an object in these bytes, which are JSON, has a key twice. */
function repeatsKey(bytes: Buffer): boolean {
  const tokens = bytes.toString("utf8").match(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g) ?? [];
  const keys: Set<unknown>[] = [];
  return tokens.some((token, index) => {
    if (token === "{" || token === "[") keys.push(new Set());
    if (token === "}" || token === "]") keys.pop();
    if (token !== ":") return false;
    const key: unknown = JSON.parse(tokens[index - 1] ?? "");
    const isSecond = keys.at(-1)?.has(key) ?? false;
    keys.at(-1)?.add(key);
    return isSecond;
  });
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isPosition(value: unknown): value is Position {
  const { segment, bytes, seq, hash } = isObject(value) ? value : {};
  return isCount(segment) && isCount(bytes) && isCount(seq) && typeof hash === "string";
}
