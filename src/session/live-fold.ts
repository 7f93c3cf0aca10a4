/**
 * Owns the fold of a session while its owner writes: what is durable, and beside it what is on its way.
 *
 * - `state` is a fold of what is durable, never of what is on its way.
 * - `ahead` has everything that was allowed so far: what comes next is judged by it. When something is refused on its
 *   way, everything behind it is, and `ahead` is what is durable again.
 */
import type { JournalRecord } from "../contract/index.ts";
import type { Position, WriterListener } from "../journal/index.ts";
import type { CachedFold } from "./fold-cache.ts";
import { fold } from "./machine.ts";
import { emptyState, type SessionState } from "./state.ts";

/** A few megabytes: read and folded in the time of a few syncs. */
const SEGMENTS_PER_FOLD = 2;

export class LiveFold implements WriterListener {
  #state: SessionState = emptyState;
  #ahead: SessionState = emptyState;
  #position: Position | undefined;
  #caching: Promise<void> = Promise.resolve();
  readonly #observers: ((records: readonly JournalRecord[]) => void)[] = [];
  /** A cache that can't be written costs time at the next open, nothing else. */
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

  /** Where reading begins. */
  readFrom({ state }: CachedFold): void {
    this.#state = state;
  }

  /** A record that lay there when the journal was opened. */
  read(record: JournalRecord): void {
    this.#state = fold(this.#state, record);
  }

  /** All that lay there is read. */
  begin(position: Position): void {
    this.#position = position;
    this.#ahead = this.#state;
  }

  /** It was allowed, and is on its way to the disk. */
  expect(record: JournalRecord): void {
    this.#ahead = fold(this.#ahead, record);
  }

  observe(observer: (records: readonly JournalRecord[]) => void): void {
    this.#observers.push(observer);
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

  /** Writes it as it is by then, one after the other. */
  cache(): Promise<void> {
    this.#caching = this.#caching.then(async () => {
      if (!this.#position) return;
      await this.#write({ position: this.#position, state: this.#state }).catch(() => {});
    });
    return this.#caching;
  }

  /** Resolves when none is on its way to the disk. */
  cached(): Promise<void> {
    return this.#caching;
  }
}
