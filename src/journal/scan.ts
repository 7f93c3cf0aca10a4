/**
 * Owns the reading of a journal: which bytes are records, which are a torn tail, which are damage.
 *
 * journal-4 A torn tail is set aside and reported. Damage is never cut. A bad line is judged like this:
 * - Below a mark it is damage. A mark is what a record, the witness or the caller reported as durable.
 * - A whole record in its right place with a wrong hash is damage wherever it is.
 * - Everything else above all marks is a torn tail: part of the last batch, which was never acknowledged.
 */
import type { JournalRecord } from "../contract/index.ts";
import { LINE_FEED, SEAL_LENGTH, splitSealed } from "../util/index.ts";
import { damaged } from "./damage.ts";
import { type DecodedLine, decodeRecord, FIRST_HASH, type Position } from "./line.ts";
import { isBadCompression, readChain, type Segment, segmentFile, startOf } from "./segments.ts";
import { readWitness, type Witness } from "./witness.ts";

export interface ScannedRecord {
  readonly record: JournalRecord;
  /** The record's line with the line feed, as it is in the file. */
  readonly line: Buffer;
  /** Where it begins and where it ends. Both count in the segment that holds it. */
  readonly start: Position;
  readonly end: Position;
}

export interface ScannedTail {
  /** The end of the last whole record. */
  readonly end: Position;
  /** The highest seq that is known to be durable. Records above it may or may not be. */
  readonly mark: number;
  /** Bytes after the end that are not a record; empty when there are none. */
  readonly torn: Buffer;
  /**
   * How many bytes are after the named ends of the segments that were read. An owner that had lost the
   * session wrote them.
   */
  readonly ignoredBytes: number;
  readonly epoch: number;
}

export const JOURNAL_START: Position = { segment: 0, bytes: 0, seq: 0, hash: FIRST_HASH };

export interface ScanOptions {
  /** Begin after this position, which must come from an earlier scan or append. */
  readonly from?: Position;
  /** A position that the caller knows to have been durable, for example from a cached fold. */
  readonly known?: Position | undefined;
}

/**
 * Yields every whole record and returns what follows the last one. Where the bytes are not those that were
 * written, it first yields the records before them and then throws `session_damaged`.
 */
export async function* scanJournal(
  sessionDir: string,
  options: ScanOptions = {},
): AsyncGenerator<ScannedRecord, ScannedTail> {
  const from = options.from ?? JOURNAL_START;
  const { witness, spoiled } = await tryWitness(sessionDir);
  const known = [witness?.head, options.known, from].filter((position) => position !== undefined);
  const knownSeq = Math.max(...known.map(({ seq }) => seq));
  const { segments, damage: chainDamage } = await readChain(sessionDir, from.segment);
  const first = segments.findLastIndex((segment) => startOf(segment).seq <= from.seq);

  let at = JOURNAL_START;
  let lastAt = "";
  let mark = knownSeq;
  let torn: Buffer = Buffer.alloc(0);
  let ignoredBytes = 0;
  for (const [index, segment] of segments.slice(Math.max(first, 0)).entries()) {
    const content = await load(segment);
    const end = segment.end ?? finalEnd(segment, witness);
    const readable = content.subarray(0, end?.bytes ?? content.length);
    at = index === 0 ? entryInto(segment, readable, from) : stepInto(segment, at);
    mark = Math.max(mark, segment.header.prev?.seq ?? 0);

    const lines = recordsIn(readable, at);
    for (let step = lines.next(); ; step = lines.next()) {
      if (step.done) {
        const bad = step.value;
        if (bad) torn = judge(segment, bad, { end, mark });
        break;
      }
      const { record } = step.value;
      if (record.at < lastAt)
        throw damage(segment, at.bytes, record.seq, "the record is older than the one before");
      lastAt = record.at;
      at = step.value.end;
      mark = Math.max(mark, record.durable);
      for (const position of known) checkKnown(segment, position, at);
      if (record.seq > from.seq) yield step.value;
    }
    if (end) checkEnd(segment, content, end, at);
    ignoredBytes += content.length - readable.length;
  }

  if (chainDamage) throw chainDamage;
  if (at.seq < knownSeq) {
    const file = segmentFile(segments.at(-1)?.header.segment ?? 1);
    const reason = "the journal was cut: it ends before the position that its witness names";
    throw damaged({ file, offset: at.bytes, seq: at.seq + 1, reason });
  }
  // Thrown last: a spoiled witness does not make any record bad.
  if (spoiled) throw spoiled;
  return { end: at, mark, torn, ignoredBytes, epoch: segments.at(-1)?.header.epoch ?? 0 };
}

async function tryWitness(sessionDir: string): Promise<{ witness?: Witness | undefined; spoiled?: unknown }> {
  try {
    return { witness: await readWitness(sessionDir) };
  } catch (spoiled) {
    return { spoiled };
  }
}

/** Where the owner of the last segment let go of it. Nothing may follow that position. */
function finalEnd(segment: Segment, witness: Witness | undefined): Position | undefined {
  return witness?.isFinal && witness.head.segment === segment.header.segment ? witness.head : undefined;
}

interface BadLine {
  readonly decoded: DecodedLine;
  /** The end of the last good record. */
  readonly at: Position;
  readonly rest: Buffer;
}

/** Yields the whole records after `at` and returns the first line that is not one, if there is one. */
function* recordsIn(content: Buffer, from: Position): Generator<ScannedRecord, BadLine | undefined> {
  let at = from;
  while (at.bytes < content.length) {
    const feed = content.indexOf(LINE_FEED, at.bytes);
    const decoded: DecodedLine =
      feed < 0 ? { kind: "garbage" } : decodeRecord(content.subarray(at.bytes, feed), at.hash);
    if (decoded.kind !== "record" || decoded.record.seq !== at.seq + 1) {
      return { decoded, at, rest: content.subarray(at.bytes) };
    }
    const { record } = decoded;
    const end = { segment: from.segment, bytes: feed + 1, seq: record.seq, hash: record.hash };
    yield { record, line: content.subarray(at.bytes, feed + 1), start: at, end };
    at = end;
  }
  return undefined;
}

/** Throws damage and returns a torn tail. */
function judge(
  segment: Segment,
  bad: BadLine,
  { end, mark }: { end: Position | undefined; mark: number },
): Buffer {
  const { decoded, at, rest } = bad;
  const expected = at.seq + 1;
  const isWholeButWrong = decoded.kind === "misfit" && decoded.seq === expected;
  if (end || isWholeButWrong || expected <= Math.max(mark, highestMark(rest))) {
    throw damage(segment, at.bytes, expected, describe(decoded, expected));
  }
  return rest;
}

/** A segment whose end is named must end exactly there. */
function checkEnd(segment: Segment, content: Buffer, end: Position, at: Position): void {
  if (end.seq !== at.seq || end.hash !== at.hash || end.bytes !== at.bytes) {
    throw damage(
      segment,
      at.bytes,
      at.seq + 1,
      "the segment does not end where the next one says that it ends",
    );
  }
  // Bytes that a stale owner added after the end that its successor names are ignored. A final end has no
  // successor.
  if (segment.end === undefined && content.length > end.bytes) {
    throw damage(segment, end.bytes, end.seq + 1, "bytes were added to a segment that was finished");
  }
}

/**
 * After `from`, if the record there is still the same. A recovery may have moved the records around it into
 * this segment; then reading begins at the segment's first record.
 */
function entryInto(segment: Segment, content: Buffer, from: Position): Position {
  const start = startOf(segment);
  const isHere = segment.header.segment === from.segment && from.bytes >= start.bytes;
  if (!isHere || from.bytes > content.length) return start;
  const hash =
    from.bytes === start.bytes
      ? start.hash
      : splitSealed(content.subarray(Math.max(0, from.bytes - SEAL_LENGTH - 3), from.bytes - 1))?.hash;
  if (hash === from.hash) return from;
  throw damage(segment, from.bytes, from.seq, "the record here is not the one that was seen before");
}

async function load(segment: Segment): Promise<Buffer> {
  try {
    return await segment.load();
  } catch (error) {
    if (isBadCompression(error)) throw damage(segment, 0, 0, "the segment can't be decompressed");
    throw error;
  }
}

function stepInto(segment: Segment, at: Position): Position {
  const start = startOf(segment);
  if (start.seq === at.seq && start.hash === at.hash) return start;
  throw damage(segment, 0, at.seq + 1, "the segment does not continue the one before");
}

function checkKnown(segment: Segment, known: Position, at: Position): void {
  if (known.seq === at.seq && known.hash !== at.hash) {
    throw damage(segment, at.bytes, at.seq, "the record is not the one that the witness names");
  }
}

/** The highest mark in the lines that survive after a bad one. */
function highestMark(rest: Buffer): number {
  let mark = 0;
  let start = 0;
  while (start < rest.length) {
    const feed = rest.indexOf(LINE_FEED, start);
    const decoded = decodeRecord(rest.subarray(start, feed < 0 ? rest.length : feed), "");
    if (decoded.kind === "misfit") mark = Math.max(mark, decoded.durable);
    if (feed < 0) break;
    start = feed + 1;
  }
  return mark;
}

function describe(decoded: DecodedLine, expected: number): string {
  if (decoded.kind === "garbage") return "these bytes are not a record";
  if (decoded.kind === "record") return `the record has seq ${decoded.record.seq}`;
  if (decoded.seq !== expected)
    return `a record with seq ${decoded.seq} stands where ${expected} was expected`;
  return "the record's hash does not match its bytes and the record before";
}

function damage(segment: Segment, offset: number, seq: number, reason: string) {
  return damaged({ file: segmentFile(segment.header.segment), offset, seq, reason });
}
