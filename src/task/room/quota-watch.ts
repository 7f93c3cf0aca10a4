/**
 * Owns the watch over a command that runs: the most memory that it and all it started held at once, and whether it
 * takes more than its share. A share that is exceeded ends the turn: nothing else would stop it from starving the
 * other sessions of disk.
 */
import { statfsSync } from "node:fs";
import type { EventData } from "../../contract/index.ts";
import {
  type Cgroup,
  diskUse,
  findCgroup,
  measureTree,
  type Sandbox,
  unnamedBytes,
} from "../../process/index.ts";
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

/** What is watched. */
export interface Watched {
  /** With all that it started. */
  readonly pid: number;
  readonly dirs: readonly string[];
  readonly quota: Quota;
  /** That it was started in. Where the kernel counts for us, it tells what it refused. */
  readonly sandbox?: Sandbox | undefined;
}

export class Watch {
  readonly #watched: Watched;
  readonly #cgroup: Cgroup | undefined;
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
    const { cgroup } = watched.sandbox ?? {};
    this.#cgroup = cgroup && findCgroup(cgroup.name);
    this.#onExceeded = onExceeded;
    this.#counting = new CountSchedule(clock, this.#free(), countAnywayMs);
    this.#timer = setTimeout(() => this.#look(), SHORT_LOOK_MS);
  }

  /** The peak. Nothing is watched after this. */
  end(): number {
    // One that the kernel ended at once was not looked at since.
    const { maxMemoryBytes } = this.#watched.quota;
    if (maxMemoryBytes !== undefined) this.#lookAtMemory(0, maxMemoryBytes);
    this.#isOver = true;
    clearTimeout(this.#timer);
    return this.#peakBytes;
  }

  #look(): void {
    const { pid, quota } = this.#watched;
    const { processes, bytes } = measureTree(pid);
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
    const { maxProcesses, maxMemoryBytes } = quota;
    if (processes > maxProcesses) this.#exceeded("processes", processes, maxProcesses);
    if (maxMemoryBytes !== undefined) this.#lookAtMemory(bytes, maxMemoryBytes);
    const isShort = this.#lookAtDisk();
    if (!this.#isOver) this.#timer = setTimeout(() => this.#look(), isShort ? SHORT_LOOK_MS : LOOK_MS);
  }

  /** The kernel may have kept it to that already, by ending one of its processes. */
  #lookAtMemory(bytes: number, maxBytes: number): void {
    const wasEnded = (this.#cgroup?.refused().memory ?? 0) > 0;
    if (wasEnded || bytes > maxBytes) this.#exceeded("memory", Math.max(bytes, maxBytes), maxBytes);
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
