/**
 * Owns the bytes of one line: the header of a segment, or a record. docs/format.md describes the same in
 * prose.
 */
import { isUtf8 } from "node:buffer";
import { HoldfastError, type JournalRecord, type JsonObject } from "../contract/index.ts";
import {
  hasDuplicateKeys,
  isPlainObject,
  isSealedWith,
  parseObject,
  parseSealedBody,
  sealLine,
  splitSealed,
} from "../util/index.ts";

export const FORMAT_VERSION = 1;
export const FIRST_HASH = "0".repeat(64);
/** Far more segments than any session has. Above this number there is no room to go on. */
export const MAX_SEGMENT = 99_999_999;
const MAX_EPOCH = 2 ** 40;
/** A longer line is refused: long content belongs in blobs. */
export const MAX_LINE_BYTES = 1024 * 1024;

/** The position after a record. `bytes` counts from the beginning of the segment. */
export interface Position {
  readonly segment: number;
  readonly bytes: number;
  readonly seq: number;
  readonly hash: string;
}

export interface SegmentHeader {
  readonly session: string;
  readonly segment: number;
  readonly epoch: number;
  /** The end of the previous segment; bytes after that end are ignored. Null in the first segment. */
  readonly prev: Position | null;
}

export function encodeHeader(header: SegmentHeader): Buffer {
  const { session, segment, epoch, prev } = header;
  const body = JSON.stringify({ holdfast: FORMAT_VERSION, session, segment, epoch, prev }).slice(0, -1);
  return Buffer.from(sealLine(body).line);
}

/** Returns undefined if these bytes are not a header. Throws for a header of a newer format. */
export function decodeHeader(line: Buffer): SegmentHeader | undefined {
  const split = splitSealed(line);
  if (!split || !isSealedWith(split)) return undefined;
  const value = parseSealedBody(split.body);
  if (!value || !isCount(value["holdfast"])) return undefined;
  if (value["holdfast"] > FORMAT_VERSION) {
    throw new HoldfastError(
      "newer_format",
      `the journal has format ${value["holdfast"]}; this program reads up to format ${FORMAT_VERSION}`,
    );
  }
  const { session, segment, epoch, prev } = value;
  if (typeof session !== "string" || !isCount(segment) || !isCount(epoch)) return undefined;
  if (segment < 1 || segment > MAX_SEGMENT || epoch < 1 || epoch > MAX_EPOCH) return undefined;
  if (prev !== null && !isPosition(prev)) return undefined;
  return { session, segment, epoch, prev };
}

export type RecordBody = Omit<JournalRecord, "hash">;

/** `dataJson` is the JSON of `data`, if the caller already has it. */
export function encodeRecord(
  body: RecordBody,
  previousHash: string,
  dataJson = JSON.stringify(body.data),
): { bytes: Buffer; record: JournalRecord } {
  const { seq, at, epoch, durable, type, redacted } = body;
  const start = `{"seq":${seq},"at":"${at}","epoch":${epoch},"durable":${durable},"type":${JSON.stringify(type)}`;
  const end = redacted ? `,"redacted":${JSON.stringify(redacted)}` : "";
  const { line, hash } = sealLine(`${start},"data":${dataJson}${end}`, previousHash);
  const bytes = Buffer.from(line);
  if (bytes.length > MAX_LINE_BYTES) {
    const message = `a ${type} record of ${bytes.length} bytes is over ${MAX_LINE_BYTES}`;
    throw new HoldfastError("record_too_large", message);
  }
  return { bytes, record: { ...body, hash } };
}

export type DecodedLine =
  | { readonly kind: "record"; readonly record: JournalRecord }
  /**
   * It has the form of a record, but is not the one that follows: the hash does not fit these bytes and that
   * hash.
   */
  | { readonly kind: "misfit"; readonly seq: number; readonly durable: number }
  | { readonly kind: "garbage" };

export function decodeRecord(line: Buffer, previousHash: string): DecodedLine {
  const split = isUtf8(line) ? splitSealed(line) : undefined;
  const text = split ? line.toString("utf8") : "";
  const value = split && parseObject(text);
  if (!split || !value) return { kind: "garbage" };
  const { seq, at, epoch, durable, type, data, redacted } = value;
  if (!isCount(seq) || !isCount(durable) || !isCount(epoch) || typeof at !== "string")
    return { kind: "garbage" };
  if (typeof type !== "string" || !isPlainObject(data)) return { kind: "garbage" };
  if (!isSealedWith(split, previousHash)) return { kind: "misfit", seq, durable };
  // Checked last: a flipped bit in a whole record gives a wrong hash, and must not be reported as garbage.
  const isProper =
    RECORD_START.test(split.body.toString("latin1", 0, 200)) && durable < seq && isTexts(redacted);
  if (!isProper || line.length >= MAX_LINE_BYTES || hasDuplicateKeys(text, value)) return { kind: "garbage" };
  const record = { seq, at, epoch, durable, type, data: data as JsonObject, hash: split.hash };
  return { kind: "record", record: redacted === undefined ? record : { ...record, redacted } };
}

/** The first fields in their order, without white space, with the time in the form in which it is written. */
const RECORD_START =
  /^\{"seq":\d+,"at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","epoch":\d+,"durable":\d+,"type":"/;

function isTexts(value: unknown): value is string[] | undefined {
  return value === undefined || (Array.isArray(value) && value.every((item) => typeof item === "string"));
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isPosition(value: unknown): value is Position {
  if (!isPlainObject(value)) return false;
  const { segment, bytes, seq, hash } = value;
  return (
    isCount(segment) &&
    isCount(bytes) &&
    isCount(seq) &&
    typeof hash === "string" &&
    /^[0-9a-f]{64}$/.test(hash)
  );
}
