/**
 * Owns `blobs/`: payloads that are too long for a line, by the SHA-256 of their bytes.
 * B1 A blob is synced, and so is its name, before a record names it. B2 A blob never changes.
 */
import { isUtf8 } from "node:buffer";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import {
  type BlobReference,
  HoldfastError,
  isBlobReference,
  type JournalRecord,
  type Json,
  type JsonObject,
} from "../contract/index.ts";
import {
  blobsDir,
  createFile,
  type Disk,
  errorCode,
  hasDuplicateKeys,
  IN_SESSION,
  isPlainObject,
  readIfThere,
  sha256Hex,
  temporaryPath,
} from "../util/index.ts";
import { damaged } from "./damage.ts";
import { MAX_LINE_BYTES } from "./line.ts";
import { COMPRESSED, isBadCompression, readMaybeCompressed } from "./segments.ts";

/** A field of `data` whose JSON is longer than this becomes a blob. */
export const MAX_INLINE_BYTES = 4096;
/** Leaves room in the line for what redaction puts in place of secrets. */
const MAX_INLINE_TOTAL = MAX_LINE_BYTES / 2;
/** A reference has about 120. */
const REFERENCE_BYTES = 150;
/** Far more than any tool's arguments have, far less than a stack. */
export const MAX_DEPTH = 200;

/**
 * Replaces every long field by a reference and stores what it held. Durable when it resolves (B1). `synced`
 * has the blobs whose names this writer knows to be on disk: that a file is there does not say so.
 */
export async function storeLongFields(
  disk: Disk,
  sessionDir: string,
  data: JsonObject,
  synced: Set<string>,
): Promise<JsonObject> {
  const long = Object.entries(data).flatMap(([field, value]) => {
    const payload = longPayload(value);
    return payload ? [{ field, payload }] : [];
  });
  if (long.length === 0) return data;
  const stored: JsonObject = { ...data };
  const named: string[] = [];
  for (const { field, payload } of long) {
    const sha256 = sha256Hex(payload.bytes);
    await storeBlob(disk, sessionDir, sha256, payload.bytes);
    named.push(sha256);
    stored[field] = { $blob: { sha256, bytes: payload.bytes.length, as: payload.as } };
  }
  if (named.every((sha256) => synced.has(sha256))) return stored;
  await disk.syncDir(blobsDir(sessionDir));
  for (const sha256 of named) synced.add(sha256);
  return stored;
}

/**
 * Refuses what could not be written, or could later be mistaken for a reference. Asked before the append, with
 * the length of the data as JSON, which settles most of it.
 */
export function assertRecordable(data: JsonObject, jsonLength: number): void {
  for (const [field, value] of Object.entries(data)) {
    if (isPlainObject(value) && "$blob" in value) {
      throw new HoldfastError("invalid_data", `${field}: the key $blob is reserved`, { field });
    }
    if (jsonLength > MAX_DEPTH && isDeeperThan(value, MAX_DEPTH)) {
      throw new HoldfastError("invalid_data", `${field}: nested more than ${MAX_DEPTH} levels deep`, {
        field,
      });
    }
  }
  // A UTF-16 unit of JSON is at most three bytes.
  if (jsonLength * 3 > MAX_INLINE_TOTAL && inlineBytes(data) > MAX_INLINE_TOTAL) {
    throw new HoldfastError(
      "record_too_large",
      `${Object.keys(data).length} fields are too many for one record`,
    );
  }
}

function inlineBytes(data: JsonObject): number {
  return Object.entries(data).reduce((sum, [field, value]) => {
    const inline = longPayload(value) ? REFERENCE_BYTES : Buffer.byteLength(JSON.stringify(value));
    return sum + Buffer.byteLength(JSON.stringify(field)) + inline;
  }, 0);
}

export function isDeeperThan(value: Json, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}

function longPayload(value: Json): { bytes: Buffer; as: "text" | "json" } | undefined {
  if (typeof value === "string") {
    // Each UTF-16 unit becomes one to three bytes: most strings need no encoding to be judged.
    if (value.length * 3 <= MAX_INLINE_BYTES || Buffer.byteLength(value) <= MAX_INLINE_BYTES)
      return undefined;
    // A lone surrogate has no UTF-8; JSON can escape it.
    if (value.isWellFormed()) return { bytes: Buffer.from(value), as: "text" };
  } else if (typeof value !== "object" || value === null) {
    return undefined;
  }
  const json = JSON.stringify(value);
  return Buffer.byteLength(json) > MAX_INLINE_BYTES ? { bytes: Buffer.from(json), as: "json" } : undefined;
}

async function storeBlob(disk: Disk, sessionDir: string, sha256: string, bytes: Buffer): Promise<void> {
  const path = join(blobsDir(sessionDir), sha256);
  // A blob that is there already is trusted only after its bytes were read again.
  if (await holds(path, sha256)) return;
  const temporary = temporaryPath(path);
  await createFile(disk, temporary, bytes);
  await disk.rename(temporary, path);
}

async function holds(path: string, sha256: string): Promise<boolean> {
  const content = await readIfThere(path);
  return content !== undefined && sha256Hex(content) === sha256;
}

/** What is wrong with it is damage at the record that names it, which has this seq. */
export async function readBlob(sessionDir: string, reference: BlobReference, seq: number): Promise<Json> {
  const { sha256, bytes, as } = reference.$blob;
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256) || !Number.isSafeInteger(bytes))
    throw damaged({ file: blobsDir(IN_SESSION), offset: 0, seq, reason: "a blob has no proper name" });
  const file = join(blobsDir(IN_SESSION), sha256);
  let content: Buffer;
  try {
    content = await readMaybeCompressed(join(blobsDir(sessionDir), sha256), Math.max(bytes, 1));
  } catch (error) {
    if (errorCode(error) === "ENOENT") throw damaged({ file, offset: 0, seq, reason: "the blob is missing" });
    if (isBadCompression(error)) {
      throw damaged({ file, offset: 0, seq, reason: "the blob can't be decompressed" });
    }
    throw error;
  }
  if (content.length !== bytes || sha256Hex(content) !== sha256) {
    throw damaged({ file, offset: 0, seq, reason: "the blob's bytes are not those that were stored" });
  }
  const value = decodeBlob(content, as);
  if (value === undefined) throw damaged({ file, offset: 0, seq, reason: `the blob is no ${String(as)}` });
  return value;
}

function decodeBlob(content: Buffer, as: unknown): Json | undefined {
  if (!isUtf8(content)) return undefined;
  const text = content.toString("utf8");
  if (as === "text") return text;
  try {
    const value = as === "json" ? (JSON.parse(text) as Json) : undefined;
    return value === undefined || hasDuplicateKeys(text, value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** The data of a record with its blobs in place. */
export async function loadLongFields(
  sessionDir: string,
  { seq, data }: Pick<JournalRecord, "seq" | "data">,
): Promise<JsonObject> {
  const loaded: JsonObject = { ...data };
  for (const [field, value] of Object.entries(data)) {
    if (isBlobReference(value)) loaded[field] = await readBlob(sessionDir, value, seq);
  }
  return loaded;
}

export function blobReferences(data: JsonObject): BlobReference[] {
  return Object.values(data).filter((value): value is Json & BlobReference => isBlobReference(value));
}

/** Names of all blobs that are there. */
export async function listBlobs(sessionDir: string): Promise<string[]> {
  const names = await readdir(blobsDir(sessionDir));
  return [...new Set(names.map((name) => name.replace(COMPRESSED, "")))].filter((name) =>
    /^[0-9a-f]{64}$/.test(name),
  );
}
