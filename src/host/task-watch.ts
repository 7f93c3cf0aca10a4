/**
 * Owns the watch over all that runs for a task: its agent, and the commands that tools start for it. If one
 * of them uses more than the task's quota, that is recorded, and ends the task's work.
 */
import type { Session } from "../session/index.ts";
import { type Quota, Watch } from "../task/index.ts";
import type { Clock } from "../util/index.ts";

export interface WatchedTask {
  readonly clock: Clock;
  readonly session: Session;
  readonly dirs: readonly string[];
  readonly quota: Quota;
  readonly refused: ConstructorParameters<typeof Watch>[1]["refused"];
  /** Ends the work. */
  stop(): void;
}

export class TaskWatch {
  readonly #of: WatchedTask;
  readonly #watches = new Map<number, Watch>();
  #peakBytes = 0;
  #exceeding: Promise<unknown> | undefined;

  constructor(of: WatchedTask) {
    this.#of = of;
  }

  begin(pid: number): void {
    const { clock, session, dirs, quota, refused, stop } = this.#of;
    const watch = new Watch(clock, { pid, dirs, quota, refused }, (exceeded) => {
      // First it is stopped, because the record may need the space that it takes.
      stop();
      this.#exceeding ??= session.append("quota_reached", exceeded);
      this.#exceeding.catch(() => {});
    });
    this.#watches.set(pid, watch);
  }

  /** One of them has ended: processes that are gone need no watch. */
  ended(): void {
    for (const pid of this.#watches.keys()) if (!isThere(pid)) this.#end(pid);
  }

  /** The highest memory use of any of them, and whether the task used more than its quota. */
  async end(): Promise<{ readonly peakBytes: number; readonly isOverQuota: boolean }> {
    for (const pid of this.#watches.keys()) this.#end(pid);
    await this.#exceeding;
    return { peakBytes: this.#peakBytes, isOverQuota: this.#exceeding !== undefined };
  }

  #end(pid: number): void {
    this.#peakBytes = Math.max(this.#peakBytes, this.#watches.get(pid)?.end() ?? 0);
    this.#watches.delete(pid);
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
