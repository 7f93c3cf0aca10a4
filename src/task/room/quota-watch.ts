/**
 * Owns the watch over a running command: the most memory that it and all of its children held at once, and
 * whether it exceeds its quota. Exceeding the quota ends the turn, because nothing else would keep it from
 * taking the disk of other sessions.
 */
import { statfsSync } from "node:fs";
import type { EventData } from "../../contract/index.ts";
import { diskUse, measureTree, type refusalsFromNow, unnamedBytes } from "../../process/index.ts";
import type { Clock } from "../../util/index.ts";
import { CountSchedule, type FreeSpace } from "./count-schedule.ts";
import type { Quota } from "./quota.ts";

export type Exceeded = EventData<"quota_reached">;

/** The interval at first, and while space is short: a disk can fill up in less than a second. */
const SHORT_LOOK_MS = 100;
/** The kernel sends no notice of how much memory or disk is used, so the watch looks at intervals. */
const LOOK_MS = 1000;
/** Space is short when less than this many times the reserve is free. */
const SHORT_FACTOR = 8;
/** The directories are counted at least this often. */
const COUNT_ANYWAY_MS = 30_000;

type Refused = ReturnType<typeof refusalsFromNow>;

/** What the watch looks at. */
export interface Watched {
  /** With all of its children. */
  readonly pid: number;
  readonly dirs: readonly string[];
  readonly quota: Quota;
  /** With a cgroup: what the kernel has refused since the command was started. */
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

  /** Ends the watch, and returns the peak of memory. */
  end(): number {
    // The kernel may have ended the command before the watch looked at it.
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

  /** The kernel may have enforced the quota already: it refused to start a process, or ended one. */
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

  /** Returns whether space is short. */
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
    // Only the command's own bytes count. Other programs may have used up the disk meanwhile.
    const counted = await diskUse(dirs);
    const used = { files: counted.files, bytes: counted.bytes + unnamedBytes(pid) };
    this.#counting.counted();
    if (used.bytes > maxBytes) return this.#exceeded("bytes", used.bytes, maxBytes);
    if (used.files > maxFiles) return this.#exceeded("files", used.files, maxFiles);
    // The disk is nearly full: a command that uses a large part of it is stopped, the others go on.
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
