/**
 * Owns everything that comes to a session and goes out of it, on the side of its process: the inbox and the
 * outbox, what the records name from there, and what a task needs beside its record until it is over: its
 * command as it was asked for, and its values.
 */
import type { JournalRecord, TaskSpec } from "../contract/index.ts";
import { type Home, sessionDirOf } from "../home/index.ts";
import { idOf, type Maildir } from "../mail/index.ts";
import {
  isTaskOver,
  removeEnvironment,
  removeOldEnvironments,
  type Session,
  textIn,
} from "../session/index.ts";
import { MessageDelivery, Named } from "../task/index.ts";
import { inboxDir, outboxDir } from "../util/index.ts";
import { mailIn } from "./arrival.ts";
import type { DispatcherCalls } from "./calling.ts";
import { Outgoing } from "./outgoing.ts";
import { removeOldSpools } from "./spool.ts";

export class SessionMail {
  readonly inbox: Maildir;
  readonly feed: MessageDelivery;
  readonly outgoing: Outgoing;
  readonly #home: Home;
  readonly #session: Session;
  readonly #named: Named;
  readonly #outbox: Maildir;

  private constructor(home: Home, session: Session, named: Named, calls: DispatcherCalls) {
    this.#home = home;
    this.#session = session;
    this.#named = named;
    this.inbox = mailIn(home, session.id, inboxDir);
    this.feed = new MessageDelivery(session, named, home.io.clock);
    this.#outbox = mailIn(home, session.id, outboxDir);
    this.outgoing = new Outgoing(session, {
      outbox: this.#outbox,
      redact: session.redact,
      newId: home.newId,
      nowMs: () => home.io.clock.nowMs(),
      notify: () => calls.call(),
    });
  }

  static async read(home: Home, session: Session, calls: DispatcherCalls): Promise<SessionMail> {
    const inbox = mailIn(home, session.id, inboxDir);
    const named = await Named.read(sessionDirOf(home, session.id), inbox, session.state);
    return new SessionMail(home, session, named, calls);
  }

  /** Finishes what earlier processes left half done, or could not put away. */
  async settle(): Promise<void> {
    await this.feed.settleUnclear();
    await this.outgoing.settleUnsent(this.#named);
    await this.#tidy();
  }

  /** As it was asked for. */
  spec(request: string): Promise<TaskSpec> {
    return this.#named.spec(request);
  }

  /** These are on disk now. */
  note(records: readonly JournalRecord[]): void {
    this.#named.note(records);
    this.feed.wake();
    for (const { type, data } of records)
      if (type === "task_refused") this.#forget(textIn(data["request"])).catch(() => {});
  }

  /**
   * A task that still waits will not begin; nor does one that lies in the inbox after the envelope that
   * cancels it.
   */
  async takeBack(request: string): Promise<void> {
    if (this.#session.state.queue.every((one) => one.request !== request)) {
      const name = (await this.inbox.waiting()).find((one) => idOf(one) === request);
      if (name === undefined) return;
      await this.inbox.done([name]);
      return this.#forget(request);
    }
    const reason = "it was cancelled";
    await this.#session.append("task_refused", { request, code: "interrupted", reason });
  }

  /** A task that is paused goes on later, as it was asked for. */
  async forgetIfOver(request: string): Promise<void> {
    if (isTaskOver(this.#session.state, request)) await this.#forget(request);
  }

  async #tidy(): Promise<void> {
    const { inbox } = this;
    await inbox.forgetOld();
    const { task, queue } = this.#session.state;
    const waiting = new Set((await inbox.waiting()).map(idOf));
    const needed = new Set([
      ...queue.map(({ request }) => request),
      ...(task?.request ? [task.request] : []),
    ]);
    removeOldSpools(this.#sessionDir, (request) => needed.has(request) || waiting.has(request));
    // Its process was killed when all of it was on record.
    if (task?.request) await this.forgetIfOver(task.request);
    await removeOldEnvironments(
      this.#home.io.disk,
      this.#sessionDir,
      (request) => !isTaskOver(this.#session.state, request) || waiting.has(request),
    );
    // Asked for each when its turn comes, because one may have been taken in meanwhile.
    await inbox.emptyAllBut((request) => needed.has(request) || !isTaskOver(this.#session.state, request));
    await this.#outbox.forgetOld();
  }

  async #forget(request: string): Promise<void> {
    await this.inbox.empty(request);
    await removeEnvironment(this.#home.io.disk, this.#sessionDir, request);
  }

  get #sessionDir(): string {
    return sessionDirOf(this.#home, this.#session.id);
  }
}
