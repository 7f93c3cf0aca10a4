/**
 * Owns the reading of a journal: which bytes are records, which are a torn tail, which are damage.
 *
 * How a bad line is judged (J4):
 * - Below a mark it is damage. Marks are what a record, the witness or the caller says was durable.
 * - A whole record in its right place with a wrong hash is damage wherever it stands.
 * - Everything else above all marks is a torn tail: the last batch, which nobody was told of.
 */
import type { JournalRecord } from "../contract/index.ts";
import { SEAL_LENGTH, splitSealed } from "../util/index.ts";
import { damaged } from "./damage.ts";
import { type DecodedLine, decodeRecord, FIRST_HASH, type Position } from "./line.ts";
import { isBadCompression, readChain, type Segment, segmentName, startOf } from "./segments.ts";
import { readWitness } from "./witness.ts";

const LINE_FEED = 0x0a;

export interface ScannedRecord {
  readonly record: JournalRecord;
  /** Its line with the line feed, as it stands in the file. */
  readonly line: Buffer;
  /** Where it begins and ends, both in the segment that holds it. */
  readonly start: Position;
  readonly end: Position;
}

export interface ScannedTail {
  /** The end of the last whole record. */
  readonly end: Position;
  /** The highest seq that something says was durable: what is above it was perhaps not. */
  readonly mark: number;
  /** Bytes behind the end that are no record; empty when there are none. */
  readonly torn: Buffer;
  readonly epoch: number;
}

export const JOURNAL_START: Position = { segment: 0, bytes: 0, seq: 0, hash: FIRST_HASH };

export interface ScanOptions {
  /** Begin behind this position, which must be one that an earlier scan or append gave. */
  readonly from?: Position;
  /** A position that the caller knows to have been durable: from a cached fold, say. */
  readonly known?: Position | undefined;
}

/**
 * Yields every whole record and returns what stands at the end. Throws `session_damaged` where the bytes are
 * not what was written, after it has yielded what stands before.
 */
export async function* scanJournal(
  sessionDir: string,
  options: ScanOptions = {},
): AsyncGenerator<ScannedRecord, ScannedTail> {
  const from = options.from ?? JOURNAL_START;
  let spoiledWitness: unknown;
  const witness = await readWitness(sessionDir).catch((error: unknown) => {
    spoiledWitness = error;
    return undefined;
  });
  const known = [witness?.head, options.known, from].filter((position) => position !== undefined);
  const { segments: chain, damage: chainDamage } = await readChain(sessionDir, from.segment);
  const first = chain.findLastIndex((segment) => startOf(segment).seq <= from.seq);

  let at = JOURNAL_START;
  let mark = Math.max(...known.map((position) => position.seq));
  let torn: Buffer = Buffer.alloc(0);
  for (const [index, segment] of chain.slice(Math.max(first, 0)).entries()) {
    const content = await load(segment);
    const limit = segment.end?.bytes ?? content.length;
    at = index === 0 ? entryInto(segment, content, from) : stepInto(segment, at);
    if (limit > content.length) throw damage(segment, content.length, at.seq + 1, "the segment was cut");
    const isLast = segment.end === undefined;
    mark = Math.max(mark, segment.header.prev?.seq ?? 0);
    while (at.bytes < limit) {
      const feed = content.indexOf(LINE_FEED, at.bytes);
      const lineEnd = feed < 0 || feed >= limit ? limit : feed + 1;
      const decoded: DecodedLine =
        feed < 0 || feed >= limit
          ? { kind: "garbage" }
          : decodeRecord(content.subarray(at.bytes, feed), at.hash);
      if (decoded.kind === "record" && decoded.record.seq === at.seq + 1) {
        const { record } = decoded;
        const line = content.subarray(at.bytes, lineEnd);
        const start = at;
        at = { segment: segment.header.segment, bytes: lineEnd, seq: record.seq, hash: record.hash };
        mark = Math.max(mark, record.durable);
        for (const position of known) checkKnown(segment, position, at);
        if (record.seq > from.seq) yield { record, line, start, end: at };
        continue;
      }
      const expected = at.seq + 1;
      const rest = content.subarray(at.bytes, limit);
      const isWholeButWrong = decoded.kind === "misfit" && decoded.seq === expected;
      if (!isLast || isWholeButWrong || expected <= Math.max(mark, highestMark(rest))) {
        throw damage(segment, at.bytes, expected, describe(decoded, expected));
      }
      torn = rest;
      break;
    }
    if (segment.end && (segment.end.seq !== at.seq || segment.end.hash !== at.hash)) {
      throw damage(
        segment,
        at.bytes,
        at.seq + 1,
        "the segment's end is not the one that the next segment names",
      );
    }
  }

  if (chainDamage) throw chainDamage;
  const last = chain.at(-1);
  if (last && witness?.isFinal && witness.head.segment === last.header.segment) {
    const { bytes, seq } = witness.head;
    if (bytes < at.bytes + torn.length)
      throw damage(last, bytes, seq + 1, "something was added to a segment that was finished");
  }
  if (at.seq < Math.max(...known.map((position) => position.seq))) {
    const file = `journal/${segmentName(last?.header.segment ?? 1)}`;
    throw damaged({
      file,
      offset: at.bytes,
      seq: at.seq + 1,
      reason: "the journal was cut: its witness saw more",
    });
  }
  // Said last: a spoiled witness makes no record worse.
  if (spoiledWitness) throw spoiledWitness;
  return { end: at, mark, torn, epoch: last?.header.epoch ?? 0 };
}

/**
 * Behind `from` if that is still where it was; a recovery may have moved the records around it into this
 * segment, and then reading begins at the segment's first record.
 */
function entryInto(segment: Segment, content: Buffer, from: Position): Position {
  const start = startOf(segment);
  const limit = Math.min(segment.end?.bytes ?? content.length, content.length);
  if (segment.header.segment !== from.segment || from.bytes > limit || from.bytes < start.bytes) return start;
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
    throw damage(segment, at.bytes, at.seq, "the record is not the one that its witness saw");
  }
}

/** What the surviving lines behind a bad one say of how far was durable. */
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
  return "the record's hash does not fit its bytes and the record before";
}

function damage(segment: Segment, offset: number, seq: number, reason: string) {
  return damaged({ file: `journal/${segmentName(segment.header.segment)}`, offset, seq, reason });
}
