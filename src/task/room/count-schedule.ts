/**
 * Owns when a watch counts a session's directories. Counting takes longer the more files there are, so it is
 * done when the free space of the disk suggests that there is something to find, and at intervals in any
 * case: others may free as much space as this session takes. Only one count runs at a time.
 */
import type { Clock } from "../../util/index.ts";

export interface FreeSpace {
  readonly bytes: number;
  readonly files: number;
}

/** The directories are counted again when the disk has lost this much since the last count. */
const NOTABLE_BYTES = 16 * 1024 * 1024;
const NOTABLE_FILES = 2000;
/**
 * The pause between counts, in multiples of the time that a count takes. On a nearly full disk it is shorter.
 */
const COUNT_REST = 10;
const COUNT_REST_LOW = 1;
const ANYWAY_REST = 100;

export class CountSchedule {
  readonly #clock: Clock;
  readonly #anywayMs: number;
  #anywayAtMs: number;
  /** The free space at the last count, or at the beginning. */
  #free: FreeSpace;
  #startedMs = 0;
  #last = { endedAtMs: 0, tookMs: 0 };
  #isCounting = false;

  constructor(clock: Clock, free: FreeSpace, anywayMs: number) {
    this.#clock = clock;
    this.#free = free;
    this.#anywayMs = anywayMs;
    this.#anywayAtMs = clock.monotonicMs() + anywayMs;
  }

  /** `isLow`: the disk is nearly full. */
  isDue(free: FreeSpace, isLow: boolean): boolean {
    const nowMs = this.#clock.monotonicMs();
    const isNotable =
      this.#free.bytes - free.bytes > NOTABLE_BYTES || this.#free.files - free.files > NOTABLE_FILES;
    const isWanted = isNotable || isLow || nowMs >= this.#anywayAtMs;
    const { endedAtMs, tookMs } = this.#last;
    const isResting = nowMs < endedAtMs + tookMs * (isLow ? COUNT_REST_LOW : COUNT_REST);
    return isWanted && !this.#isCounting && !isResting;
  }

  begin(free: FreeSpace): void {
    this.#isCounting = true;
    this.#free = free;
    this.#startedMs = this.#clock.monotonicMs();
  }

  counted(): void {
    const endedAtMs = this.#clock.monotonicMs();
    const tookMs = endedAtMs - this.#startedMs;
    this.#last = { endedAtMs, tookMs };
    this.#anywayAtMs = endedAtMs + Math.max(this.#anywayMs, ANYWAY_REST * tookMs);
  }

  /** Call it when the count has ended or failed. */
  end(): void {
    this.#isCounting = false;
  }
}
