/**
 * Owns the end of a journal on the disk: the open segment, and how far it is durable. A batch takes one write
 * and one sync. When a segment is full, the next one begins.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError, type JournalRecord } from "../contract/index.ts";
import { type Disk, type DiskFile, errorCode, isDiskFull, journalDir } from "../util/index.ts";
import { encodeHeader, type Position } from "./line.ts";
import { segmentName } from "./segments.ts";
import { writeWitness } from "./witness.ts";

/** Small enough that a fork copies little; large enough that a new segment is rare. */
const SEGMENT_BYTES = 1024 * 1024;

/** A record in the form in which it will be on disk. */
export interface Encoded {
  readonly bytes: Buffer;
  readonly record: JournalRecord;
}

/** Where a batch goes: after the head of the current segment, or after the header of a new one. */
interface Target {
  readonly file: DiskFile;
  readonly segment: number;
  readonly start: number;
  readonly header: Buffer;
}

/** An open segment that ends at `head`, as recovery returns it. */
export interface TailStart {
  readonly sessionDir: string;
  readonly session: string;
  readonly epoch: number;
  readonly file: DiskFile;
  readonly head: Position;
}

export class SegmentTail {
  readonly epoch: number;
  readonly #disk: Disk;
  readonly #session: string;
  #sessionDir: string;
  #file: DiskFile;
  #head: Position;
  #failure: HoldfastError | undefined;
  #witnessing: Promise<void> = Promise.resolve();

  constructor(start: TailStart, disk: Disk) {
    this.epoch = start.epoch;
    this.#disk = disk;
    this.#session = start.session;
    this.#sessionDir = start.sessionDir;
    this.#file = start.file;
    this.#head = start.head;
  }

  get sessionDir(): string {
    return this.#sessionDir;
  }

  /** The end of what is durable. */
  get head(): Position {
    return this.#head;
  }

  get failure(): HoldfastError | undefined {
    return this.#failure;
  }

  /** The directory was renamed. The open file is the same. */
  relocate(sessionDir: string): void {
    this.#sessionDir = sessionDir;
  }

  /** Returns how many of them are durable: all, or fewer when the disk is full. */
  async add(batch: Encoded[]): Promise<number> {
    const target = this.#head.bytes >= SEGMENT_BYTES ? await this.#beginSegment() : this.#currentTarget();
    const landed = await this.#write(target, batch);
    if (target.file !== this.#file) await this.#rollOver(target);
    this.#advance(batch.slice(0, landed), target);
    return landed;
  }

  /** Resolves when no witness is being written. */
  witnessed(): Promise<void> {
    return this.#witnessing;
  }

  /** Writes the witness if asked, and closes the file. */
  async close(options: { witness: boolean }): Promise<void> {
    try {
      // An older witness must not replace that of a process that took the session over.
      this.assertStillOwner();
      const witness = { head: this.#head, isFinal: true };
      if (options.witness && !this.#failure) await writeWitness(this.#disk, this.#sessionDir, witness);
    } catch {
      // Everything is durable without the witness. The old one stays true, and the next owner handles the end
      // with care.
    } finally {
      await this.#file.close().catch(() => {});
    }
  }

  #currentTarget(): Target {
    const { segment, bytes } = this.#head;
    return { file: this.#file, segment, start: bytes, header: Buffer.alloc(0) };
  }

  /**
   * Rollover: the header of the next segment and the batch are one write. A crash before the sync leaves a
   * file without a whole header, which was never part of the journal.
   */
  async #beginSegment(): Promise<Target> {
    const segment = this.#head.segment + 1;
    const header = encodeHeader({ session: this.#session, segment, epoch: this.epoch, prev: this.#head });
    try {
      const file = await this.#disk.create(this.#pathOf(segment));
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
        throw this.fail(error);
      }
      landed = wholeRecords(batch, written - header.length);
      try {
        if (landed > 0) await file.truncate(start + header.length + byteLength(batch.slice(0, landed)));
        else if (file === this.#file) await file.truncate(start);
        else await this.#dropSegment(file, segment);
      } catch (cause) {
        throw this.fail(cause);
      }
      if (landed === 0) throw diskFull(error);
    }
    await file.datasync().catch((error: unknown) => {
      throw this.fail(error);
    });
    return landed;
  }

  async #dropSegment(file: DiskFile, segment: number): Promise<void> {
    await file.close();
    await this.#disk.unlink(this.#pathOf(segment));
  }

  async #rollOver(target: Target): Promise<void> {
    const end = this.#head;
    const old = this.#file;
    this.#file = target.file;
    await old.close().catch(() => {});
    try {
      await this.#disk.syncDir(journalDir(this.#sessionDir));
    } catch (error) {
      throw this.fail(error);
    }
    // The witness only guards against a later cut, so no append waits for it. On a full disk the old one
    // stays.
    this.#witnessing = this.#witnessing
      .then(() => writeWitness(this.#disk, this.#sessionDir, { head: end, isFinal: true }))
      .catch(() => {});
  }

  #advance(batch: Encoded[], { segment, start, header }: Target): void {
    const last = batch.at(-1);
    if (!last) return;
    const { seq, hash } = last.record;
    this.#head = { segment, bytes: start + header.length + byteLength(batch), seq, hash };
  }

  /** journal-3: the process that began the next segment has the session. */
  assertStillOwner(): void {
    if (existsSync(this.#pathOf(this.#head.segment + 1))) throw this.#takenOver();
  }

  #pathOf(segment: number): string {
    return join(journalDir(this.#sessionDir), segmentName(segment));
  }

  #takenOver(): HoldfastError {
    this.#failure = new HoldfastError("session_taken_over", "another process has taken the session over");
    return this.#failure;
  }

  /** journal-5: nothing is written through this handle any more. */
  fail(cause: unknown): HoldfastError {
    const reason = cause instanceof Error ? cause.message : String(cause);
    this.#failure = new HoldfastError(
      "append_failed",
      `the journal could not be written: ${reason}; the record may or may not be on disk`,
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
