/**
 * Owns `blobs/`: payloads that are too long for a line, each in a file named by the SHA-256 of its bytes.
 *
 * blob-1 A blob and its name are synced before a record names the blob.
 * blob-2 A blob never changes.
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
/** Leaves room in the line for the marks that redaction puts in place of secrets. */
const MAX_INLINE_TOTAL = MAX_LINE_BYTES / 2;
/** A reference takes about 120 bytes. */
const REFERENCE_BYTES = 150;
/** Far more than the arguments of any tool need, and far less than a stack holds. */
export const MAX_DEPTH = 200;

/**
 * Stores the content of every long field as a blob and puts a reference in its place. When it resolves, the
 * blobs are durable (blob-1). `synced` holds the blobs whose names this writer knows to be on disk: a file
 * that can be seen is not necessarily durable.
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
 * Refuses data that could not be written, or that a reader could take for a reference. It is called before
 * the append, with the length of the data as JSON, which decides most cases.
 */
export function assertRecordable(data: JsonObject, jsonLength: number): void {
  for (const [field, value] of Object.entries(data)) {
    if (isPlainObject(value) && "$blob" in value) {
      throw new HoldfastError("invalid_data", `${field}: the key $blob is reserved for references to blobs`, {
        field,
      });
    }
    if (jsonLength > MAX_DEPTH && isDeeperThan(value, MAX_DEPTH)) {
      throw new HoldfastError(
        "invalid_data",
        `${field}: the value is nested more than ${MAX_DEPTH} levels deep`,
        {
          field,
        },
      );
    }
  }
  // A UTF-16 unit of JSON is at most three bytes.
  if (jsonLength * 3 > MAX_INLINE_TOTAL && inlineBytes(data) > MAX_INLINE_TOTAL) {
    throw new HoldfastError(
      "record_too_large",
      `the record has ${Object.keys(data).length} fields, which is more than one line can hold`,
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
    // A UTF-16 unit becomes one to three bytes, so most strings can be judged without encoding them.
    if (value.length * 3 <= MAX_INLINE_BYTES || Buffer.byteLength(value) <= MAX_INLINE_BYTES)
      return undefined;
    // A lone surrogate has no form in UTF-8; JSON can escape it.
    if (value.isWellFormed()) return { bytes: Buffer.from(value), as: "text" };
  } else if (typeof value !== "object" || value === null) {
    return undefined;
  }
  const json = JSON.stringify(value);
  return Buffer.byteLength(json) > MAX_INLINE_BYTES ? { bytes: Buffer.from(json), as: "json" } : undefined;
}

async function storeBlob(disk: Disk, sessionDir: string, sha256: string, bytes: Buffer): Promise<void> {
  const path = join(blobsDir(sessionDir), sha256);
  // An existing blob is trusted only after its bytes were read again.
  if (await holds(path, sha256)) return;
  const temporary = temporaryPath(path);
  await createFile(disk, temporary, bytes);
  await disk.rename(temporary, path);
}

async function holds(path: string, sha256: string): Promise<boolean> {
  const content = await readIfThere(path);
  return content !== undefined && sha256Hex(content) === sha256;
}

/** A blob that is wrong counts as damage at the record with this seq, which names it. */
export async function readBlob(sessionDir: string, reference: BlobReference, seq: number): Promise<Json> {
  const { sha256, bytes, as } = reference.$blob;
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256) || !Number.isSafeInteger(bytes))
    throw damaged({
      file: blobsDir(IN_SESSION),
      offset: 0,
      seq,
      reason: "the name of a blob has the wrong form",
    });
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
    throw damaged({ file, offset: 0, seq, reason: "the blob does not have the bytes that were stored" });
  }
  const value = decodeBlob(content, as);
  if (value === undefined)
    throw damaged({ file, offset: 0, seq, reason: `the blob does not hold ${String(as)}` });
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

/** The data of a record with the content of its blobs in place. */
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

/** The names of all blobs in the session. */
export async function listBlobs(sessionDir: string): Promise<string[]> {
  const names = await readdir(blobsDir(sessionDir));
  return [...new Set(names.map((name) => name.replace(COMPRESSED, "")))].filter((name) =>
    /^[0-9a-f]{64}$/.test(name),
  );
}
