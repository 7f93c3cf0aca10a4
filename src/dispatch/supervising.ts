/**
 * Owns looking after a home all the time: it carries messages, starts sessions of the line, resumes sessions
 * that crashed, and archives old ones. One call of the command line can do all of that, too, and nothing is
 * lost when no process looks. A parked task is no crash: it goes on by itself when its time has come, and not
 * before.
 *
 * supervise-1 A session that crashes again and again is left alone after a few times, and waits for a person.
 *             After a reboot sessions are resumed a few at a time, and each through the line.
 */

import type { SessionSummary } from "../home/index.ts";
import { hasActed, reachedLimits } from "../session/index.ts";
import type { Clock } from "../util/index.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { firstTaskIn } from "./post.ts";
import { isParkOver } from "./unparking.ts";

export const MAX_CRASHES = 5;
const FIRST_BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 60_000;
/** How many one look resumes. */
const RESUMED_AT_ONCE = 2;
const RETENTION_MS = 60 * 60 * 1000;

/** The times are by a clock that does not jump. */
interface Crash {
  /** When it was first seen. */
  readonly seenMs?: number;
  /** How often the session was resumed and then recorded nothing. */
  readonly resumed: number;
}

interface Tried {
  readonly times: number;
  readonly againMs: number;
}

export class Supervisor {
  readonly #dispatcher: Dispatcher;
  readonly #clock: Clock;
  readonly #say: (text: string) => void;
  readonly #crashes = new Map<string, Crash>();
  readonly #givenUp = new Set<string>();
  /** Parked tasks that were to go on. If that failed, it is tried again. */
  readonly #unparked = new Map<string, Tried>();
  /** How often each session was started and then never got its task. */
  readonly #tried = new Map<string, number>();
  #retentionAtMs = 0;

  constructor(dispatcher: Dispatcher, say: (text: string) => void) {
    this.#dispatcher = dispatcher;
    this.#clock = dispatcher.home.io.clock;
    this.#say = say;
  }

  /** Resolves to whether there is more to do at once. */
  async look(): Promise<boolean> {
    const isMore = await this.#dispatcher.look();
    const sessions = await this.#dispatcher.holdfast.listSessions({ user: null });
    await this.#resumeCrashed(sessions);
    await this.#unparkDue(sessions);
    await this.#findForgotten(sessions);
    await this.#retain();
    return isMore;
  }

  async #resumeCrashed(sessions: readonly SessionSummary[]): Promise<void> {
    const crashed = sessions.filter(isOurs).filter(isInterrupted);
    keepOnly(this.#crashes, crashed);
    const due = crashed.filter((one) => this.#isDue(one)).slice(0, RESUMED_AT_ONCE);
    for (const one of due) {
      // From now on its crash is waited for again.
      this.#crashes.set(keyOf(one), { resumed: (this.#crashes.get(keyOf(one))?.resumed ?? 0) + 1 });
      await this.#try(one.id, async () => {
        await this.#dispatcher.enter(one.id, { user: one.user, by: "serve" });
        this.#say(`${one.id} crashed, and was resumed`);
      });
    }
    if (due.length > 0) await this.#dispatcher.look();
  }

  async #unparkDue(sessions: readonly SessionSummary[]): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const over = sessions.filter((one) => isParkOver(one, nowMs));
    keepOnly(this.#unparked, over);
    const due = over.filter((one) => this.#mayUnpark(one));
    for (const one of due.slice(0, RESUMED_AT_ONCE)) {
      const times = (this.#unparked.get(keyOf(one))?.times ?? 0) + 1;
      this.#unparked.set(keyOf(one), { times, againMs: this.#clock.monotonicMs() + pauseAfter(times) });
      await this.#try(one.id, async () => {
        await this.#dispatcher.unpark(one.id, { user: one.user, by: "serve" });
        this.#say(`${one.id} was parked until now, and continues`);
      });
    }
  }

  #mayUnpark(one: SessionSummary): boolean {
    const { againMs = 0 } = this.#unparked.get(keyOf(one)) ?? {};
    if (this.#clock.monotonicMs() < againMs) return false;
    return !this.#dispatcher.placeOf(one.id) && !this.#dispatcher.processOf(one.id);
  }

  /** An error in one session does not keep the others from going on. */
  async #try(id: string, work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => {
      this.#say(`${id} can't be started: ${error instanceof Error ? error.message : String(error)}`);
    });
  }

  #isDue(session: SessionSummary): boolean {
    const { id } = session;
    // With its budget reached, a session would be refused each time it is tried.
    const isSpent = reachedLimits(session).length > 0 && !hasActed(session);
    if (this.#dispatcher.placeOf(id) || isSpent) return false;
    const key = keyOf(session);
    // A process that dies before it can record its start does not count as another crash on record.
    const { resumed, seenMs = this.#clock.monotonicMs() } = this.#crashes.get(key) ?? { resumed: 0 };
    const crashes = session.crashes + resumed;
    if (crashes >= MAX_CRASHES) {
      if (!this.#givenUp.has(id))
        this.#say(
          `${id} crashed ${crashes + 1} times in a row and is not resumed again; to try it: holdfast resume ${id}`,
        );
      this.#givenUp.add(id);
      return false;
    }
    this.#givenUp.delete(id);
    this.#crashes.set(key, { resumed, seenMs });
    return this.#clock.monotonicMs() - seenMs >= pauseAfter(crashes);
  }

  /** A task in the inbox of a session that was never started: the caller that put it there was killed. */
  async #findForgotten(sessions: readonly SessionSummary[]): Promise<void> {
    for (const one of sessions) {
      const { id, user, status } = one;
      const isWaiting = status === "open" || isAtRest(one) || (isInterrupted(one) && !isOurs(one));
      if (!isWaiting || this.#dispatcher.placeOf(id) || this.#dispatcher.processOf(id)) continue;
      const spec = await firstTaskIn(this.#dispatcher.inboxOf(id)).catch(() => undefined);
      const tries = this.#tried.get(id) ?? 0;
      if (!spec) this.#tried.delete(id);
      if (!spec || tries >= MAX_CRASHES) continue;
      this.#tried.set(id, tries + 1);
      await this.#try(id, () => this.#dispatcher.wake(id, { user, definition: spec.definition }));
    }
  }

  async #retain(): Promise<void> {
    if (this.#clock.monotonicMs() < this.#retentionAtMs) return;
    this.#retentionAtMs = this.#clock.monotonicMs() + RETENTION_MS;
    const { done } = await this.#dispatcher.holdfast.gc();
    for (const { action, what, why } of done) this.#say(`${action} ${what}: ${why}`);
  }
}

/** A person's pause, a quota, a budget and an import wait for a person. */
const isAtRest = ({ status, pausedFor }: SessionSummary) =>
  status === "paused" && ["idle", "released", null].includes(pausedFor);
const isInterrupted = ({ status }: SessionSummary) => status === "interrupted";
/** Grows with each time. */
const pauseAfter = (times: number) =>
  times === 0 ? 0 : Math.min(FIRST_BACKOFF_MS * 2 ** (times - 1), MAX_BACKOFF_MS);
const keyOf = ({ id, records }: SessionSummary) => `${id} ${records}`;

function keepOnly(map: Map<string, unknown>, sessions: readonly SessionSummary[]): void {
  const known = new Set(sessions.map(keyOf));
  for (const key of map.keys()) if (!known.has(key)) map.delete(key);
}

/**
 * True for a session that a session process drives, not for one of another harness, which goes on with its
 * session itself.
 */
const isOurs = ({ due }: SessionSummary) => due !== "nothing";
