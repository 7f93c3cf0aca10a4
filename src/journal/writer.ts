/**
 * Owns the append: the only code that adds to a journal.
 *
 * J1 An append resolves after its bytes are synced, and the directory too for a new segment.
 * J3 One writer. After each sync it looks whether somebody began the next segment: then it has lost the
 *    session, and nothing that it wrote since is acknowledged.
 * J5 After a failed sync the handle is never used again, and every later append fails.
 * J6 An append costs the same at record 100 and at record 100,000.
 *
 * Group commit: appends that arrive while a batch is on its way to the disk become the next batch: one
 * redaction, one write, one sync for all of them.
 *
 * A whole record, once visible, is never withdrawn: when the disk is full in the middle of a batch, the
 * records that got there are synced and acknowledged, and the rest is cut and refused.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError, type JournalRecord, type JsonObject } from "../contract/index.ts";
import { type Clock, type Disk, type DiskFile, errorCode, isDiskFull } from "../util/index.ts";
import { storeLongFields } from "./blobs.ts";
import { encodeHeader, encodeRecord, type Position } from "./line.ts";
import { journalDir, segmentName } from "./segments.ts";
import { writeWitness } from "./witness.ts";

/** Small enough that a fork's copied tail is little; large enough that rollover is rare. */
const SEGMENT_BYTES = 1024 * 1024;
/** Most records in one batch: bounds how long the first of them waits for the others' encoding. */
const MAX_BATCH = 256;

/**
 * Takes the texts of a batch and gives them back without secrets, each with the rules that fired. With their types,
 * where they are records: a command line is read otherwise than other texts.
 */
export type Redactor = (
  batch: readonly JsonObject[],
  types?: readonly string[],
) => Promise<readonly Redaction[]>;
export interface Redaction {
  readonly data: JsonObject;
  readonly rules: readonly string[];
}

export interface JournalPorts {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly redact: Redactor;
}

/** Both are called before the appends in question settle. */
export interface WriterListener {
  onDurable(records: readonly JournalRecord[], head: Position): void;
  /** Everything that was under way or queued is refused. */
  onRefused(): void;
}

interface Pending {
  readonly type: string;
  readonly data: JsonObject;
  readonly dataJson: string | undefined;
  readonly resolve: (record: JournalRecord) => void;
  readonly reject: (error: unknown) => void;
}

interface Encoded {
  readonly pending: Pending;
  readonly bytes: Buffer;
  readonly record: JournalRecord;
}

/** Where a batch goes: behind the head of the current segment, or into a new one behind its header. */
interface Target {
  readonly file: DiskFile;
  readonly segment: number;
  readonly start: number;
  readonly header: Buffer;
}

/** What recovery hands over: an open segment that ends at `head`. */
export interface WriterStart {
  readonly sessionDir: string;
  readonly session: string;
  readonly epoch: number;
  readonly file: DiskFile;
  readonly head: Position;
  readonly lastAt: string;
}

export class JournalWriter {
  readonly epoch: number;
  readonly #ports: JournalPorts;
  #sessionDir: string;
  readonly #session: string;
  readonly #listener: WriterListener;
  #file: DiskFile;
  #head: Position;
  #lastAtMs: number;
  #queue: Pending[] = [];
  #flushing: Promise<void> | undefined;
  #failure: HoldfastError | undefined;
  readonly #syncedBlobs = new Set<string>();
  #isClosed = false;
  #witnessing: Promise<void> = Promise.resolve();

  constructor(start: WriterStart, ports: JournalPorts, listener: WriterListener) {
    this.epoch = start.epoch;
    this.#ports = ports;
    this.#sessionDir = start.sessionDir;
    this.#session = start.session;
    this.#file = start.file;
    this.#head = start.head;
    this.#lastAtMs = Date.parse(start.lastAt) || 0;
    this.#listener = listener;
  }

  /** The end of what is durable. */
  get head(): Position {
    return this.#head;
  }

  /** Set when the journal can't be written any more through this writer. */
  get failure(): HoldfastError | undefined {
    return this.#failure;
  }

  /** `dataJson` is the JSON of `data`, for a caller that has it. */
  append(type: string, data: JsonObject, dataJson?: string): Promise<JournalRecord> {
    if (this.#isClosed)
      return Promise.reject(new HoldfastError("session_released", "the journal was closed"));
    return new Promise((resolve, reject) => {
      this.#queue.push({ type, data, dataJson, resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  /** The directory was renamed; the open file is the same. Nothing may be under way. */
  relocate(sessionDir: string): void {
    this.#sessionDir = sessionDir;
  }

  /** Waits for what is queued, writes the witness if asked, and lets go of the file. */
  async close(options: { witness: boolean }): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#flushing;
    await this.#witnessing;
    try {
      // The witness of whoever took the session over must not be replaced by an older one.
      this.#assertStillOwner();
      const witness = { head: this.#head, isFinal: true };
      if (options.witness && !this.#failure) await writeWitness(this.#ports.disk, this.#sessionDir, witness);
    } catch {
      // Everything is durable without it. The old witness stays true, and the next owner treats the end with care.
    } finally {
      await this.#file.close().catch(() => {});
    }
  }

  /** Resolves when nothing is on its way to the disk, the witness of a rollover included. */
  async settled(): Promise<void> {
    await this.#flushing;
    await this.#witnessing;
  }

  async #flush(): Promise<void> {
    // One tick, so that appends of the same moment share the batch.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, MAX_BATCH);
      try {
        await this.#commit(batch);
      } catch (error) {
        // What was queued behind a failed record was decided on a state that never came to be.
        this.#listener.onRefused();
        for (const { reject } of [...batch, ...this.#queue.splice(0)]) reject(error);
      }
    }
    this.#flushing = undefined;
  }

  async #commit(batch: Pending[]): Promise<void> {
    if (this.#failure) throw this.#failure;
    const encoded = await this.#encode(batch);
    const target = this.#head.bytes >= SEGMENT_BYTES ? await this.#beginSegment() : this.#currentTarget();
    const landed = await this.#write(target, encoded);
    if (target.file !== this.#file) await this.#rollOver(target);
    this.#advance(encoded.slice(0, landed), target);
    this.#assertStillOwner();
    const durable = encoded.slice(0, landed);
    this.#listener.onDurable(
      durable.map(({ record }) => record),
      this.#head,
    );
    for (const { pending, record } of durable) pending.resolve(record);
    if (landed < encoded.length) throw diskFull();
  }

  async #encode(batch: Pending[]): Promise<Encoded[]> {
    const { disk, clock, redact } = this.#ports;
    const redactions = await redact(
      batch.map(({ data }) => data),
      batch.map(({ type }) => type),
    );
    const encoded: Encoded[] = [];
    let { seq, hash } = this.#head;
    let atMs = this.#lastAtMs;
    for (const [index, pending] of batch.entries()) {
      const { data, rules } = redactions[index] as Redaction;
      const stored = await storeLongFields(disk, this.#sessionDir, data, this.#syncedBlobs).catch(
        (error: unknown) => {
          throw isDiskFull(error) ? diskFull(error) : this.#fail(error);
        },
      );
      // A clock that went back must not make a record older than the one before it.
      atMs = Math.max(atMs, clock.nowMs());
      const body = {
        seq: seq + 1,
        at: new Date(atMs).toISOString(),
        epoch: this.epoch,
        durable: this.#head.seq,
        type: pending.type,
        data: stored,
        ...(rules.length > 0 && { redacted: rules }),
      };
      const isUnchanged = stored === pending.data;
      const { bytes, record } = encodeRecord(body, hash, isUnchanged ? pending.dataJson : undefined);
      encoded.push({ pending, bytes, record });
      ({ seq, hash } = record);
    }
    return encoded;
  }

  #currentTarget(): Target {
    const { segment, bytes } = this.#head;
    return { file: this.#file, segment, start: bytes, header: Buffer.alloc(0) };
  }

  /**
   * Rollover: the next segment is born with its header and the batch in one write. A crash before the sync
   * leaves a file without a whole header, which was never part of the journal.
   */
  async #beginSegment(): Promise<Target> {
    const segment = this.#head.segment + 1;
    const header = encodeHeader({ session: this.#session, segment, epoch: this.epoch, prev: this.#head });
    try {
      const file = await this.#ports.disk.create(this.#pathOf(segment));
      return { file, segment, start: 0, header };
    } catch (error) {
      if (errorCode(error) === "EEXIST") throw this.#takenOver();
      throw isDiskFull(error) ? diskFull(error) : error;
    }
  }

  /** Returns how many records of the batch are on disk: all of them, or fewer when the disk is full. */
  async #write({ file, header, segment, start }: Target, batch: Encoded[]): Promise<number> {
    const bytes = Buffer.concat([header, ...batch.map((encoded) => encoded.bytes)]);
    let landed = batch.length;
    let written = 0;
    try {
      while (written < bytes.length) written += await file.write(bytes.subarray(written), start + written);
    } catch (error) {
      if (!isDiskFull(error)) {
        if (file !== this.#file) await file.close().catch(() => {});
        throw this.#fail(error);
      }
      landed = wholeRecords(batch, written - header.length);
      try {
        if (landed > 0) await file.truncate(start + header.length + byteLength(batch.slice(0, landed)));
        else if (file === this.#file) await file.truncate(start);
        else await this.#dropSegment(file, segment);
      } catch (cause) {
        throw this.#fail(cause);
      }
      if (landed === 0) throw diskFull(error);
    }
    await file.datasync().catch((error: unknown) => {
      throw this.#fail(error);
    });
    return landed;
  }

  async #dropSegment(file: DiskFile, segment: number): Promise<void> {
    await file.close();
    await this.#ports.disk.unlink(this.#pathOf(segment));
  }

  async #rollOver(target: Target): Promise<void> {
    const { disk } = this.#ports;
    const end = this.#head;
    const old = this.#file;
    this.#file = target.file;
    await old.close().catch(() => {});
    try {
      await disk.syncDir(journalDir(this.#sessionDir));
    } catch (error) {
      throw this.#fail(error);
    }
    // The witness only guards against a later cut, so nobody waits for it, and without room the old one stays.
    this.#witnessing = this.#witnessing
      .then(() => writeWitness(disk, this.#sessionDir, { head: end, isFinal: true }))
      .catch(() => {});
  }

  #advance(batch: Encoded[], { segment, start, header }: Target): void {
    const last = batch.at(-1);
    if (!last) return;
    const { seq, hash, at } = last.record;
    this.#head = { segment, bytes: start + header.length + byteLength(batch), seq, hash };
    this.#lastAtMs = Date.parse(at);
  }

  #assertStillOwner(): void {
    if (existsSync(this.#pathOf(this.#head.segment + 1))) throw this.#takenOver();
  }

  #pathOf(segment: number): string {
    return join(journalDir(this.#sessionDir), segmentName(segment));
  }

  #takenOver(): HoldfastError {
    this.#failure = new HoldfastError("session_taken_over", "another process has taken the session over");
    return this.#failure;
  }

  #fail(cause: unknown): HoldfastError {
    const reason = cause instanceof Error ? cause.message : String(cause);
    this.#failure = new HoldfastError(
      "append_failed",
      `the journal could not be written: ${reason}; the record may or may not be there`,
      { errno: errorCode(cause) ?? null },
      { cause },
    );
    return this.#failure;
  }
}

function wholeRecords(batch: Encoded[], written: number): number {
  let count = 0;
  let bytes = 0;
  for (const encoded of batch) {
    bytes += encoded.bytes.length;
    if (bytes > written) break;
    count += 1;
  }
  return count;
}

function byteLength(batch: Encoded[]): number {
  return batch.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

export function diskFull(cause?: unknown): HoldfastError {
  return new HoldfastError("disk_full", "the disk is full: the record was not written", {}, { cause });
}
