/**
 * Owns the shape of one record of a journal, for every layer above the bytes.
 */
import type { JsonObject } from "./json.ts";

export interface JournalRecord {
  readonly seq: number;
  /** ISO 8601, UTC, milliseconds; never earlier than the record before it. */
  readonly at: string;
  /** The owner that wrote it. */
  readonly epoch: number;
  /** The highest seq that its writer knew to be on disk. */
  readonly durable: number;
  /** One of the event types, or one of a newer version. */
  readonly type: string;
  readonly data: JsonObject;
  /** Redaction rules that matched in this record. */
  readonly redacted?: readonly string[];
  readonly hash: string;
}

/** Where an append landed. */
export interface Appended {
  /** The number of the record in its session. */
  readonly seq: number;
  /** The hash of the record. */
  readonly hash: string;
}

/** Stands in `data` in place of a field over 4 KiB. */
export interface BlobReference {
  readonly $blob: { readonly sha256: string; readonly bytes: number; readonly as: "text" | "json" };
}

export function isBlobReference(value: unknown): value is BlobReference {
  if (typeof value !== "object" || value === null || !("$blob" in value)) return false;
  return typeof value.$blob === "object" && value.$blob !== null;
}
