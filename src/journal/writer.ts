/**
 * Owns the append: the only code that adds to a journal.
 *
 * journal-1 An append resolves after its bytes are synced, and the directory too for a new segment.
 * journal-3 One writer. After each sync the writer checks whether another process began the next segment. If
 *    so, it has lost the session, and acknowledges nothing that it wrote since.
 * journal-5 After a failed sync the handle is never used again, and every later append fails.
 * journal-6 An append costs the same at record 100 and at record 100,000.
 *
 * Group commit: appends that arrive while a batch is being written become the next batch, with one redaction,
 * one write and one sync for all of them.
 *
 * A whole record that was visible is never withdrawn. When the disk becomes full in the middle of a batch,
 * the records that were written are synced and acknowledged, and the rest is cut and refused.
 */
import { HoldfastError, type JournalRecord, type JsonObject } from "../contract/index.ts";
import { type Clock, type Disk, isDiskFull } from "../util/index.ts";
import { storeLongFields } from "./blobs.ts";
import { encodeRecord, type Position } from "./line.ts";
import { diskFull, type Encoded, SegmentTail, type TailStart } from "./segment-tail.ts";

/**
 * The most records in one batch. It limits how long the first of them waits for the encoding of the others.
 */
const MAX_BATCH = 256;

/**
 * Takes the texts of a batch and returns them without secrets, each with the rules that matched. `types` are
 * the types of the records, where they are records: a command line is read differently from other texts.
 */
export type Redactor = (
  batch: readonly JsonObject[],
  types?: readonly string[],
) => Promise<readonly Redaction[]>;
export interface Redaction {
  readonly data: JsonObject;
  readonly rules: readonly string[];
}

export interface JournalIo {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly redact: Redactor;
}

/** Both are called before the appends concerned settle. */
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

/** What recovery returns. */
export interface WriterStart extends TailStart {
  readonly lastAt: string;
}

export class JournalWriter {
  readonly #tail: SegmentTail;
  readonly #io: JournalIo;
  readonly #listener: WriterListener;
  #lastAtMs: number;
  #queue: Pending[] = [];
  #flushing: Promise<void> | undefined;
  readonly #syncedBlobs = new Set<string>();
  #isClosed = false;

  constructor(start: WriterStart, io: JournalIo, listener: WriterListener) {
    this.#tail = new SegmentTail(start, io.disk);
    this.#io = io;
    this.#listener = listener;
    this.#lastAtMs = Date.parse(start.lastAt) || 0;
  }

  get epoch(): number {
    return this.#tail.epoch;
  }

  /** The end of what is durable. */
  get head(): Position {
    return this.#tail.head;
  }

  /** Set when this writer can't write the journal any more. */
  get failure(): HoldfastError | undefined {
    return this.#tail.failure;
  }

  /** `dataJson` is the JSON of `data`, if the caller already has it. */
  append(type: string, data: JsonObject, dataJson?: string): Promise<JournalRecord> {
    if (this.#isClosed)
      return Promise.reject(
        new HoldfastError("session_released", "the journal was closed, and the record was not written"),
      );
    return new Promise((resolve, reject) => {
      this.#queue.push({ type, data, dataJson, resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  /** The directory was renamed. The open file is the same. No append may be under way. */
  relocate(sessionDir: string): void {
    this.#tail.relocate(sessionDir);
  }

  /** Waits for the queued appends, writes the witness if asked, and closes the file. */
  async close(options: { witness: boolean }): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#flushing;
    await this.#tail.witnessed();
    await this.#tail.close(options);
  }

  /** Resolves when nothing is being written, including the witness of a rollover. */
  async settled(): Promise<void> {
    await this.#flushing;
    await this.#tail.witnessed();
  }

  async #flush(): Promise<void> {
    // One tick, so that appends of the same moment share the batch.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, MAX_BATCH);
      try {
        await this.#commit(batch);
      } catch (error) {
        // The appends that were queued after a failed record were decided on a state that never came to be.
        this.#listener.onRefused();
        for (const { reject } of [...batch, ...this.#queue.splice(0)]) reject(error);
      }
    }
    this.#flushing = undefined;
  }

  async #commit(batch: Pending[]): Promise<void> {
    if (this.#tail.failure) throw this.#tail.failure;
    const encoded = await this.#encode(batch);
    const landed = await this.#tail.add(encoded);
    const durable = encoded.slice(0, landed);
    this.#lastAtMs = Date.parse(durable.at(-1)?.record.at ?? "") || this.#lastAtMs;
    this.#tail.assertStillOwner();
    this.#listener.onDurable(
      durable.map(({ record }) => record),
      this.#tail.head,
    );
    for (const { pending, record } of durable) pending.resolve(record);
    if (landed < encoded.length) throw diskFull();
  }

  async #encode(batch: Pending[]): Promise<(Encoded & { readonly pending: Pending })[]> {
    const { disk, clock, redact } = this.#io;
    const redactions = await redact(
      batch.map(({ data }) => data),
      batch.map(({ type }) => type),
    );
    const encoded: (Encoded & { readonly pending: Pending })[] = [];
    const { epoch, head, sessionDir } = this.#tail;
    let { seq, hash } = head;
    let atMs = this.#lastAtMs;
    for (const [index, pending] of batch.entries()) {
      const { data, rules } = redactions[index] as Redaction;
      const stored = await storeLongFields(disk, sessionDir, data, this.#syncedBlobs).catch(
        (error: unknown) => {
          throw isDiskFull(error) ? diskFull(error) : this.#tail.fail(error);
        },
      );
      // If the clock went back, a record must still not be older than the one before it.
      atMs = Math.max(atMs, clock.nowMs());
      const body = {
        seq: seq + 1,
        at: new Date(atMs).toISOString(),
        epoch,
        durable: head.seq,
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
}
