/**
 * Owns when a watch counts a session's directories. To count costs as much as there are files, so it is done when the
 * disk says that there may be something to find, and now and then in any case: others may free as much as this one
 * takes. One counting at a time.
 */
import type { Clock } from "../../util/index.ts";

export interface FreeSpace {
  readonly bytes: number;
  readonly files: number;
}

/** The directories are counted again when the disk has lost so much since the last time. */
const NOTABLE_BYTES = 16 * 1024 * 1024;
const NOTABLE_FILES = 2000;
/** And not more often than this times what the counting takes; nearly full, a disk can't wait that long. */
const COUNT_REST = 10;
const COUNT_REST_LOW = 1;
const ANYWAY_REST = 100;

export class CountSchedule {
  readonly #clock: Clock;
  readonly #anywayMs: number;
  #anywayAtMs: number;
  /** At the last counting, or at the beginning. */
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

  /** Whether it was counted or not. */
  end(): void {
    this.#isCounting = false;
  }
}
