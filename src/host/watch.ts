/**
 * Owns the watch over a command that runs: the most memory that it and all it started held at once, and whether it
 * takes more than its share. A share that is exceeded ends the turn: nothing else would stop it from starving the
 * other sessions of disk.
 */
import { statfsSync } from "node:fs";
import type { EventData } from "../contract/index.ts";
import { diskUse, measureTree, unnamedBytes } from "../process/index.ts";
import type { Quota } from "../task/index.ts";
import type { Clock } from "../util/index.ts";

export type Exceeded = EventData<"quota_reached">;

/** At first, and while space is short: a disk can fill up in less than a second. */
const SHORT_LOOK_MS = 100;
const LOOK_MS = 1000;
/** With less than so many times the reserve, space is short. */
const SHORT_FACTOR = 8;
/** The directories are counted again when the disk has lost so much since the last time. */
const NOTABLE_BYTES = 16 * 1024 * 1024;
const NOTABLE_FILES = 2000;
/** And not more often than this times what the counting takes; nearly full, a disk can't wait that long. */
const COUNT_REST = 10;
const COUNT_REST_LOW = 1;
/** They are counted now and then in any case: others may free as much as this one takes. */
const COUNT_ANYWAY_MS = 30_000;
const ANYWAY_REST = 100;

export class Watch {
  readonly #clock: Clock;
  readonly #pid: number;
  readonly #dirs: readonly string[];
  readonly #quota: Quota;
  readonly #onExceeded: (exceeded: Exceeded) => void;
  #timer: NodeJS.Timeout;
  #peakBytes = 0;
  #isOver = false;
  #counted: { readonly bytes: number; readonly files: number } | undefined;
  #isCounting = false;
  #lastCount = { endedAtMs: 0, tookMs: 0 };
  readonly #countAnywayMs: number;
  #anywayAtMs: number;
  readonly #before: { readonly bytes: number; readonly files: number };

  constructor(
    clock: Clock,
    pid: number,
    dirs: readonly string[],
    quota: Quota,
    onExceeded: (exceeded: Exceeded) => void,
    { countAnywayMs = COUNT_ANYWAY_MS }: { readonly countAnywayMs?: number } = {},
  ) {
    this.#clock = clock;
    this.#pid = pid;
    this.#dirs = dirs;
    this.#quota = quota;
    this.#onExceeded = onExceeded;
    this.#countAnywayMs = countAnywayMs;
    this.#anywayAtMs = clock.monotonicMs() + countAnywayMs;
    this.#before = this.#free();
    this.#timer = setTimeout(() => this.#look(), SHORT_LOOK_MS);
  }

  /** The peak. Nothing is watched after this. */
  end(): number {
    this.#isOver = true;
    clearTimeout(this.#timer);
    return this.#peakBytes;
  }

  #look(): void {
    const { processes, bytes } = measureTree(this.#pid);
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
    const { maxProcesses } = this.#quota;
    if (processes > maxProcesses) this.#exceeded("processes", processes, maxProcesses);
    const isShort = this.#lookAtDisk();
    if (!this.#isOver) this.#timer = setTimeout(() => this.#look(), isShort ? SHORT_LOOK_MS : LOOK_MS);
  }

  /** Whether space is short. */
  #lookAtDisk(): boolean {
    const free = this.#free();
    const isShort = free.bytes < SHORT_FACTOR * this.#quota.reserveBytes;
    const before = this.#counted ?? this.#before;
    const isNotable = before.bytes - free.bytes > NOTABLE_BYTES || before.files - free.files > NOTABLE_FILES;
    const isLow = free.bytes < this.#quota.reserveBytes;
    const isDue = isNotable || isLow || this.#clock.monotonicMs() >= this.#anywayAtMs;
    if (!isDue || this.#isCounting || this.#isResting(isLow)) return isShort;
    this.#isCounting = true;
    this.#counted = free;
    this.#count(isLow, free)
      .catch(() => {})
      .finally(() => {
        this.#isCounting = false;
      });
    return isShort;
  }

  #isResting(isLow: boolean): boolean {
    const { endedAtMs, tookMs } = this.#lastCount;
    return this.#clock.monotonicMs() < endedAtMs + tookMs * (isLow ? COUNT_REST_LOW : COUNT_REST);
  }

  async #count(isLow: boolean, free: { bytes: number; files: number }): Promise<void> {
    const { maxBytes, maxFiles, reserveBytes } = this.#quota;
    const startedMs = this.#clock.monotonicMs();
    // Its own bytes, and nobody else's: what the disk has lost meanwhile may be anybody's doing.
    const counted = await diskUse(this.#dirs);
    const used = { files: counted.files, bytes: counted.bytes + unnamedBytes(this.#pid) };
    const endedAtMs = this.#clock.monotonicMs();
    const tookMs = endedAtMs - startedMs;
    this.#lastCount = { endedAtMs, tookMs };
    this.#anywayAtMs = endedAtMs + Math.max(this.#countAnywayMs, ANYWAY_REST * tookMs);
    if (used.bytes > maxBytes) return this.#exceeded("bytes", used.bytes, maxBytes);
    if (used.files > maxFiles) return this.#exceeded("files", used.files, maxFiles);
    // The disk is nearly full: whoever has a notable part in that stops, the others go on.
    if (isLow && used.bytes > reserveBytes / 4) this.#exceeded("free_space", free.bytes, reserveBytes);
  }

  #exceeded(limit: Exceeded["limit"], used: number, allowed: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onExceeded({ limit, used: Math.round(used), allowed: Math.round(allowed) });
  }

  #free(): { bytes: number; files: number } {
    try {
      const { bavail, bsize, ffree } = statfsSync(this.#dirs[0] ?? "/");
      return { bytes: bavail * bsize, files: ffree };
    } catch {
      return { bytes: Number.MAX_SAFE_INTEGER, files: Number.MAX_SAFE_INTEGER };
    }
  }
}
