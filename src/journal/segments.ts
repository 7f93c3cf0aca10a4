/**
 * Owns the files of a journal: their names, which of them belong to it, and where each of them ends.
 *
 * The newest segment with a header is the last one. Its header names the segment before it and where that one
 * ends, and so on to the first: the chain. Files outside the chain, and bytes after a named end, were written
 * by an owner that had lost the session. They are ignored (journal-3).
 */
import { type FileHandle, open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { zstdDecompress } from "node:zlib";
import type { HoldfastError } from "../contract/index.ts";
import { errorCode, IN_SESSION, journalDir, LINE_FEED, readIfThere } from "../util/index.ts";
import { damaged } from "./damage.ts";
import { decodeHeader, FIRST_HASH, type Position, type SegmentHeader } from "./line.ts";

/**
 * With `info`, zlib also returns the engine, which knows how much of its input was the frame. The types of
 * Node lack it.
 */
const unzstd = promisify(zstdDecompress) as unknown as (
  input: Buffer,
  options: { maxOutputLength: number; info: true },
) => Promise<{ buffer: Buffer; engine: { bytesWritten: number } }>;
const PLAIN = ".jsonl";
export const COMPRESSED = ".zst";
/** A header takes about 350 bytes. */
const MAX_HEADER_BYTES = 1024;
/**
 * The largest file that is read, compressed or not. A segment is a few hundred KiB, and one batch may be
 * more.
 */
export const MAX_SEGMENT_BYTES = 256 * 1024 * 1024;

export interface Segment {
  readonly header: SegmentHeader;
  readonly headerBytes: number;
  /** The content of the segment, header included. It is read when it is needed, one segment at a time. */
  load(): Promise<Buffer>;
  /** Where the next segment says that this one ends; undefined for the last. */
  readonly end: Position | undefined;
}

export function segmentName(segment: number): string {
  return `${String(segment).padStart(6, "0")}${PLAIN}`;
}

/** Below the session's directory, as findings and export files name it. */
export function segmentFile(segment: number): string {
  return join(journalDir(IN_SESSION), segmentName(segment));
}

/** The numbers of all segment files, in order, whether or not they belong to the chain. */
export async function listSegments(sessionDir: string): Promise<number[]> {
  const numbers = new Set<number>();
  for (const name of await readdir(journalDir(sessionDir))) {
    const match = /^(\d{6,8})\.jsonl(\.zst)?$/.exec(name);
    if (match) numbers.add(Number(match[1]));
  }
  return [...numbers].sort((a, b) => a - b);
}

/** Reads a file that may be compressed, with `.zst` after its name. */
export async function readMaybeCompressed(
  path: string,
  maxOutputLength = MAX_SEGMENT_BYTES,
): Promise<Buffer> {
  const plain = await readIfThere(path);
  if (plain) return plain;
  const compressed = await readFile(path + COMPRESSED);
  const { buffer, engine } = await unzstd(compressed, { maxOutputLength, info: true });
  // Decompression ends with its frame and ignores what follows. In this file nothing may follow.
  if (engine.bytesWritten !== compressed.length) throw new RangeError("bytes after the compressed content");
  return buffer;
}

export interface Chain {
  readonly segments: readonly Segment[];
  /** Set when a header was damaged or a file was missing: the segments are then those before it. */
  readonly damage: HoldfastError | undefined;
}

/**
 * The chain from the segment that holds `from` to the last one. It does not read the segments before that. A
 * file whose header never became whole was never part of the journal.
 */
export async function readChain(sessionDir: string, fromSegment: number): Promise<Chain> {
  const numbers = await listSegments(sessionDir);
  let damage: HoldfastError | undefined;
  for (;;) {
    const walked = await walkBack(sessionDir, numbers, fromSegment);
    if ("segments" in walked) return { segments: walked.segments, damage };
    damage ??= walked.damage;
    // The segments before the bad one can still be read.
    while (numbers.length > 0 && (numbers.at(-1) as number) >= walked.badSegment) numbers.pop();
  }
}

type Bad = { readonly badSegment: number; readonly damage: HoldfastError };
type Headed = Omit<Segment, "end">;

async function walkBack(
  sessionDir: string,
  numbers: readonly number[],
  fromSegment: number,
): Promise<{ segments: Segment[] } | Bad> {
  const segments: Segment[] = [];
  let end: Position | undefined;
  let next = await newestBorn(sessionDir, numbers);
  while (next) {
    if ("damage" in next) return next;
    segments.unshift({ ...next, end });
    const { segment, prev } = next.header;
    if (segment <= fromSegment || !prev) break;
    end = prev;
    if (end.segment >= segment)
      return headerDamage(segment, `names segment ${end.segment} as the one before`);
    next = await readSegment(sessionDir, end.segment);
    if (!next)
      return headerDamage(end.segment, `is missing or has no header, and segment ${segment} follows it`);
  }
  return { segments };
}

async function newestBorn(sessionDir: string, numbers: readonly number[]): Promise<Headed | Bad | undefined> {
  for (const segment of numbers.toReversed()) {
    const found = await readSegment(sessionDir, segment);
    if (found) return found;
  }
  return undefined;
}

/** Undefined if the file is missing, or its owner ended before the header was whole. */
async function readSegment(sessionDir: string, segment: number): Promise<Headed | Bad | undefined> {
  const path = join(journalDir(sessionDir), segmentName(segment));
  let start: Buffer;
  try {
    start = await readStart(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    if (isBadCompression(error)) return headerDamage(segment, "can't be decompressed");
    throw error;
  }
  const headerEnd = start.indexOf(LINE_FEED);
  // Zeros in place of the header: the file grew, but the power failed before its first page was written.
  const isHole = start.every((byte) => byte === 0);
  if (isHole || (headerEnd < 0 && start.length < MAX_HEADER_BYTES)) return undefined;
  const header = headerEnd < 0 ? undefined : decodeHeader(start.subarray(0, headerEnd));
  if (!header) return headerDamage(segment, "has a damaged header");
  if (header.segment !== segment) return headerDamage(segment, `says that it is segment ${header.segment}`);
  return { header, headerBytes: headerEnd + 1, load: () => readMaybeCompressed(path) };
}

async function readStart(path: string): Promise<Buffer> {
  let handle: FileHandle;
  try {
    handle = await open(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    return (await readMaybeCompressed(path)).subarray(0, MAX_HEADER_BYTES);
  }
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_HEADER_BYTES), 0, MAX_HEADER_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Whether the error means that the bytes are not, or not only, what was compressed. */
export function isBadCompression(error: unknown): boolean {
  return /^(ZSTD|Z)_/.test(errorCode(error) ?? "") || error instanceof RangeError;
}

function headerDamage(segment: number, reason: string): Bad {
  const file = segmentFile(segment);
  return {
    badSegment: segment,
    damage: damaged({ file, offset: 0, seq: 0, reason: `the segment ${reason}` }),
  };
}

/** The position before a segment's first record. */
export function startOf(segment: Segment): Position {
  const { header, headerBytes } = segment;
  return {
    segment: header.segment,
    bytes: headerBytes,
    seq: header.prev?.seq ?? 0,
    hash: header.prev?.hash ?? FIRST_HASH,
  };
}
