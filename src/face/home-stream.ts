/**
 * Owns the stream of the records of all sessions of a user, for the library and the API. Where it begins is decided when
 * it is opened, so that a cursor that can't be continued after is refused before anything is sent.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Feed, type Home } from "../home/index.ts";
import { type SessionRecord, typed } from "./records.ts";

/** One record of one of the user's sessions. */
export interface HomeEvent {
  /** Pass this as `after` to continue after the record. */
  readonly cursor: string;
  /** The id of the session. */
  readonly session: string;
  /** The record. */
  readonly record: SessionRecord;
}

/** How often the journals of all sessions are looked at: a loop that drives a session itself rings no bell. */
const LOOK_MS = 100;

export class HomeStream implements Disposable {
  readonly #feed: Feed;
  readonly #user: string;
  #cursor: string;

  private constructor(feed: Feed, user: string, cursor: string) {
    this.#feed = feed;
    this.#user = user;
    this.#cursor = cursor;
  }

  /** Fails with `invalid_data` or `cursor_unknown` if the stream can't begin after this cursor. Without one, it begins now. */
  static async open(home: Home, user: string, after: string | undefined): Promise<HomeStream> {
    const feed = await Feed.open(home);
    try {
      if (after !== undefined) feed.assertCursor(after);
      // What was appended while no process looked has come before this stream.
      else await feed.look();
      return new HomeStream(feed, user, after ?? feed.end());
    } catch (error) {
      feed[Symbol.dispose]();
      throw error;
    }
  }

  /** The records as they become durable, until the signal. */
  async *records(signal: AbortSignal): AsyncGenerator<HomeEvent> {
    while (!signal.aborted) {
      await this.#feed.look();
      for await (const { record, session, cursor } of this.#feed.after(this.#cursor, this.#user)) {
        this.#cursor = cursor;
        yield { cursor, session, record: typed(record) };
        if (signal.aborted) return;
      }
      await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
    }
  }

  [Symbol.dispose](): void {
    this.#feed[Symbol.dispose]();
  }
}
