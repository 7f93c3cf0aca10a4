/**
 * Owns the watch over a command that runs: the most memory that it and all it started held at once, and whether it
 * takes more than its share. A share that is exceeded ends the turn: nothing else would stop it from starving the
 * other sessions of disk.
 */
import { statfsSync } from "node:fs";
import type { EventData } from "../../contract/index.ts";
import { diskUse, measureTree, type refusalsFromNow, unnamedBytes } from "../../process/index.ts";
import type { Clock } from "../../util/index.ts";
import { CountSchedule, type FreeSpace } from "./count-schedule.ts";
import type { Quota } from "./quota.ts";

export type Exceeded = EventData<"quota_reached">;

/** At first, and while space is short: a disk can fill up in less than a second. */
const SHORT_LOOK_MS = 100;
/** The kernel tells nobody how much memory or disk is taken. */
const LOOK_MS = 1000;
/** With less than so many times the reserve, space is short. */
const SHORT_FACTOR = 8;
/** How long until the directories are counted in any case. */
const COUNT_ANYWAY_MS = 30_000;

type Refused = ReturnType<typeof refusalsFromNow>;

/** What is watched. */
export interface Watched {
  /** With all that it started. */
  readonly pid: number;
  readonly dirs: readonly string[];
  readonly quota: Quota;
  /** Where the kernel counts for us: what it refused since before this was started. */
  readonly refused?: Refused | undefined;
}

export class Watch {
  readonly #watched: Watched;
  readonly #onExceeded: (exceeded: Exceeded) => void;
  #timer: NodeJS.Timeout;
  #peakBytes = 0;
  #isOver = false;
  readonly #counting: CountSchedule;

  constructor(
    clock: Clock,
    watched: Watched,
    onExceeded: (exceeded: Exceeded) => void,
    { countAnywayMs = COUNT_ANYWAY_MS }: { readonly countAnywayMs?: number } = {},
  ) {
    this.#watched = watched;
    this.#onExceeded = onExceeded;
    this.#counting = new CountSchedule(clock, this.#free(), countAnywayMs);
    this.#timer = setTimeout(() => this.#look(), SHORT_LOOK_MS);
  }

  /** The peak. Nothing is watched after this. */
  end(): number {
    // What the kernel refused may have been its end, before it was looked at.
    this.#judge({ processes: 0, bytes: 0 });
    this.#isOver = true;
    clearTimeout(this.#timer);
    return this.#peakBytes;
  }

  #look(): void {
    const measured = measureTree(this.#watched.pid);
    this.#peakBytes = Math.max(this.#peakBytes, measured.bytes);
    this.#judge(measured);
    const isShort = this.#lookAtDisk();
    if (!this.#isOver) this.#timer = setTimeout(() => this.#look(), isShort ? SHORT_LOOK_MS : LOOK_MS);
  }

  /** The kernel may have kept it to its share already: a process was not started, or was ended. */
  #judge({ processes, bytes }: Pick<ReturnType<typeof measureTree>, "processes" | "bytes">): void {
    const { quota, refused } = this.#watched;
    const { maxProcesses, maxMemoryBytes } = quota;
    const kernel = refused?.() ?? { processes: 0, memory: 0 };
    if (processes > maxProcesses || kernel.processes > 0)
      this.#exceeded("processes", Math.max(processes, maxProcesses), maxProcesses);
    if (maxMemoryBytes === undefined) return;
    if (bytes > maxMemoryBytes || kernel.memory > 0)
      this.#exceeded("memory", Math.max(bytes, maxMemoryBytes), maxMemoryBytes);
  }

  /** Whether space is short. */
  #lookAtDisk(): boolean {
    const free = this.#free();
    const { reserveBytes } = this.#watched.quota;
    const isShort = free.bytes < SHORT_FACTOR * reserveBytes;
    const isLow = free.bytes < reserveBytes;
    if (this.#counting.isDue(free, isLow)) {
      this.#counting.begin(free);
      this.#count(isLow, free)
        .catch(() => {})
        .finally(() => this.#counting.end());
    }
    return isShort;
  }

  async #count(isLow: boolean, free: FreeSpace): Promise<void> {
    const { pid, dirs, quota } = this.#watched;
    const { maxBytes, maxFiles, reserveBytes } = quota;
    // Its own bytes, and nobody else's: what the disk has lost meanwhile may be anybody's doing.
    const counted = await diskUse(dirs);
    const used = { files: counted.files, bytes: counted.bytes + unnamedBytes(pid) };
    this.#counting.counted();
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

  #free(): FreeSpace {
    try {
      const { bavail, bsize, ffree } = statfsSync(this.#watched.dirs[0] ?? "/");
      return { bytes: bavail * bsize, files: ffree };
    } catch {
      return { bytes: Number.MAX_SAFE_INTEGER, files: Number.MAX_SAFE_INTEGER };
    }
  }
}
