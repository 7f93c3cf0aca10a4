/**
 * Owns what is reported of hosts while a task runs: those that were refused to it, each of them once, for the
 * processes that show the task; and those that a person allows meanwhile.
 *
 * allow-1 A running task is allowed nothing but a host, only by a person, and that is on record before it
 *         counts.
 */
import { takeOut } from "../redaction/index.ts";
import { drivenTask, type Session } from "../session/index.ts";
import type { HostRequest } from "../task/index.ts";
import type { Spool } from "./spool.ts";

/** More than a person would read. Refusals beyond that are counted elsewhere. */
const MAX_TOLD = 50;

export class TaskHosts {
  readonly #session: Session;
  readonly #tell: (host: string) => void;
  readonly #told = new Set<string>();
  readonly #allowed: string[] = [];
  #hears: ((host: string) => void) | undefined;

  constructor(session: Session, spool: Spool, news: () => void) {
    this.#session = session;
    this.#tell = (host) => {
      spool.addAside("refused", Buffer.from(host));
      news();
    };
  }

  /** The task's network: hears of each host that is allowed, also of those that were allowed before. */
  connect(hears: (host: string) => void): void {
    this.#hears = hears;
    for (const host of this.#allowed) hears(host);
  }

  /** The task asked for it and was refused. The name comes from the task, so it may have a value in it. */
  refused(name: string): void {
    const host = takeOut(name, this.#session.secrets);
    if (this.#told.has(host) || this.#told.size >= MAX_TOLD) return;
    this.#told.add(host);
    this.#tell(host);
  }

  /** Does nothing if no task is under way: the task that it was asked for is over. */
  async allow({ host, by }: HostRequest): Promise<void> {
    const task = drivenTask(this.#session.state);
    if (!task?.lane || task.lane.hosts.includes(host)) return;
    await this.#session.append("host_allowed", { task: task.number, host, by });
    this.#allowed.push(host);
    this.#hears?.(host);
  }
}
