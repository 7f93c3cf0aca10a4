/**
 * Owns looking after a home all the time: messages are carried, those in the line begin, what crashed is resumed,
 * what is old is archived. All of it can be done by one call of the command line, too; nothing is lost while nobody
 * looks.
 *
 * U3 A session that crashes again and again is left alone after a few times, and waits for a person. After a reboot
 *    not all are resumed at once: a few at a time, and each through the line.
 */

import type { SessionSummary } from "../home/index.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { firstTaskIn } from "./post.ts";

export const MAX_CRASHES = 5;
const FIRST_BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 60_000;
/** So many are resumed by one look. */
const RESUMED_AT_ONCE = 2;
const RETENTION_MS = 60 * 60 * 1000;

export class Supervisor {
  readonly #dispatcher: Dispatcher;
  readonly #say: (text: string) => void;
  /** When a crash was first seen, by a clock that does not jump. */
  readonly #seen = new Map<string, number>();
  readonly #givenUp = new Set<string>();
  /** How often one was started that never came to have its task. */
  readonly #tried = new Map<string, number>();
  #retentionAtMs = 0;

  constructor(dispatcher: Dispatcher, say: (text: string) => void) {
    this.#dispatcher = dispatcher;
    this.#say = say;
  }

  async look(): Promise<void> {
    await this.#dispatcher.look();
    const sessions = await this.#dispatcher.holdfast.listSessions({ user: null });
    await this.#resumeCrashed(sessions);
    await this.#findForgotten(sessions);
    await this.#retain();
  }

  async #resumeCrashed(sessions: readonly SessionSummary[]): Promise<void> {
    const crashed = sessions.filter(isOurs).filter(({ status }) => status === "interrupted");
    const known = new Set(crashed.map(keyOf));
    for (const key of this.#seen.keys()) if (!known.has(key)) this.#seen.delete(key);
    const due = crashed.filter((one) => this.#isDue(one)).slice(0, RESUMED_AT_ONCE);
    for (const { id, user } of due) {
      await this.#dispatcher.enter(id, { user, by: "serve" });
      this.#say(`${id} crashed, and is resumed`);
    }
    if (due.length > 0) await this.#dispatcher.look();
  }

  #isDue(session: SessionSummary): boolean {
    const { id, crashes } = session;
    if (this.#dispatcher.placeOf(id)) return false;
    if (crashes >= MAX_CRASHES) {
      if (!this.#givenUp.has(id))
        this.#say(
          `${id} crashed ${crashes + 1} times in a row: it waits for a person (holdfast resume ${id})`,
        );
      this.#givenUp.add(id);
      return false;
    }
    this.#givenUp.delete(id);
    const key = keyOf(session);
    const seenMs = this.#seen.get(key) ?? performance.now();
    this.#seen.set(key, seenMs);
    const backoffMs = crashes === 0 ? 0 : Math.min(FIRST_BACKOFF_MS * 2 ** (crashes - 1), MAX_BACKOFF_MS);
    return performance.now() - seenMs >= backoffMs;
  }

  /** A task in the inbox of a session that nobody started: whoever put it there was killed. */
  async #findForgotten(sessions: readonly SessionSummary[]): Promise<void> {
    for (const { id, user, status } of sessions) {
      if (status !== "open" || this.#dispatcher.placeOf(id) || this.#dispatcher.processOf(id)) continue;
      const spec = await firstTaskIn(this.#dispatcher.inboxOf(id));
      const tries = this.#tried.get(id) ?? 0;
      if (!spec || tries >= MAX_CRASHES) continue;
      this.#tried.set(id, tries + 1);
      await this.#dispatcher.enter(id, { user, definition: spec.definition });
    }
  }

  async #retain(): Promise<void> {
    if (performance.now() < this.#retentionAtMs) return;
    this.#retentionAtMs = performance.now() + RETENTION_MS;
    const { done } = await this.#dispatcher.holdfast.gc();
    for (const { action, what, why } of done) this.#say(`${action} ${what}: ${why}`);
  }
}

const keyOf = ({ id, records }: SessionSummary) => `${id} ${records}`;

/** Driven by a session process, not by a harness of somebody else's, who goes on by himself. */
function isOurs({ task, queue }: SessionSummary): boolean {
  return queue > 0 || (task !== null && task.request !== null && task.outcome === null);
}
