/**
 * What the second reader knows of a journal, from docs/format.md alone: which segments count, and their records.
 */
import {
  check,
  decodeText,
  fits,
  isCount,
  isObject,
  isPosition,
  type Json,
  LF,
  type Position,
  parseJson,
  parseSealed,
  readSealed,
  repeatsKey,
  sha256,
} from "./independent-form.ts";

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

/** The content at a path like "journal/000001.jsonl", uncompressed, or undefined if there is none. */
export type Files = (path: string) => Buffer | undefined;
export type Segment = { path: string; number: number; start: number; prev: Position | null; bytes: Buffer };
/** What is read of a journal; `records` keeps the good ones when damage is thrown. */
export type Journal = { files: Files; head: Position; isFinal: boolean; records: ReadRecord[] };

const MAX_LINE = 1024 * 1024;
const SEGMENT = /^(?:journal\/)?(\d{6,})\.jsonl(?:\.zst)?$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ORDER = /^\{"seq":\d+,"at":"[^"]*","epoch":\d+,"durable":\d+,"type":"[^"]*","data":\{/;
const START = { segment: 0, bytes: 0, seq: 0, hash: "0".repeat(64), at: "" };

/** The segments of the journal, oldest first. They are found from the last back: each names the one before. */
export function findWay(files: Files, names: string[]): Segment[] {
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

/** Reads all records; returns how many bytes of the last segment are a torn tail. */
export function readJournal(way: Segment[], journal: Journal): number {
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

/** The record in a line that has the form of a sealed one and all fields. Their values are not checked. */
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

/** The data with its long fields in their places. A wrong name of one is damage of the line at `offset`. */
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
