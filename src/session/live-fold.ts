/**
 * Owns the fold of a session while its owner writes: the durable state, and the state with pending records.
 *
 * - `state` is a fold of durable records only.
 * - `ahead` also includes the records that are allowed but not yet on disk. The next record is judged by it.
 *   When a write fails, all records after it fail too, and `ahead` becomes `state` again.
 */
import type { JournalRecord } from "../contract/index.ts";
import type { Position, WriterListener } from "../journal/index.ts";
import type { CachedFold } from "./fold-cache.ts";
import { fold } from "./machine.ts";
import { emptyState, type SessionState } from "./state.ts";

/** A few megabytes of journal: they are read and folded in the time of a few syncs. */
const SEGMENTS_PER_FOLD = 2;

export class LiveFold implements WriterListener {
  #state: SessionState = emptyState;
  #ahead: SessionState = emptyState;
  #position: Position | undefined;
  #caching: Promise<void> = Promise.resolve();
  readonly #observers = new Set<(records: readonly JournalRecord[]) => void>();
  /** If the cache can't be written, the next open takes longer; nothing else is lost. */
  readonly #write: (cached: CachedFold) => Promise<void>;

  constructor(write: (cached: CachedFold) => Promise<void>) {
    this.#write = write;
  }

  get state(): SessionState {
    return this.#state;
  }

  get ahead(): SessionState {
    return this.#ahead;
  }

  /** Sets the cached fold that reading continues from. */
  readFrom({ state }: CachedFold): void {
    this.#state = state;
  }

  /** Folds a record that was in the journal when it was opened. */
  read(record: JournalRecord): void {
    this.#state = fold(this.#state, record);
  }

  /** Call it once all existing records are folded. */
  begin(position: Position): void {
    this.#position = position;
    this.#ahead = this.#state;
  }

  /** Folds a record that is allowed and on its way to the disk. */
  expect(record: JournalRecord): void {
    this.#ahead = fold(this.#ahead, record);
  }

  observe(observer: (records: readonly JournalRecord[]) => void): () => void {
    // One of its own: the same function may observe twice.
    const own = (records: readonly JournalRecord[]) => observer(records);
    this.#observers.add(own);
    return () => void this.#observers.delete(own);
  }

  onDurable(records: readonly JournalRecord[], head: Position): void {
    for (const record of records) this.#state = fold(this.#state, record);
    const isNewSegment = head.segment !== this.#position?.segment;
    this.#position = head;
    for (const observer of this.#observers) observer(records);
    // A cached fold every few segments bounds what an open after a crash has to read.
    if (isNewSegment && head.segment % SEGMENTS_PER_FOLD === 0) this.cache().catch(() => {});
  }

  onRefused(): void {
    this.#ahead = this.#state;
  }

  /** Writes the cache with the state at the time of the write; writes run one after another. */
  cache(): Promise<void> {
    this.#caching = this.#caching.then(async () => {
      if (!this.#position) return;
      await this.#write({ position: this.#position, state: this.#state }).catch(() => {});
    });
    return this.#caching;
  }

  /** Resolves when no cache write is pending. */
  cached(): Promise<void> {
    return this.#caching;
  }
}
