/**
 * Owns which sessions the broker stays for. A session counts while it has a connection, a place in the line
 * or a process, and a little longer, so that a session that crashed is started again with the keys that it
 * had. When it no longer counts, its keys are forgotten. Without any session, the broker ends.
 */
import type { SessionId } from "../contract/index.ts";
import { type Home, readProcessRecord, sessionDirOf } from "../home/index.ts";
import { hasProcess, readPlace } from "../line/index.ts";
import type { Clock } from "../util/index.ts";

/** Longer than a session needs to start on a very busy machine. */
export const LINGER_MS = 15_000;

export interface HeldOptions {
  readonly home: Pick<Home, "dir">;
  readonly clock: Clock;
  readonly lingerMs: number;
  readonly forget: (session: SessionId) => void;
}

export class HeldSessions {
  readonly #options: HeldOptions;
  /** When each session was last seen. */
  readonly #seenMs = new Map<SessionId, number>();
  readonly #connections = new Map<SessionId, number>();
  #lastMs: number;

  constructor(options: HeldOptions) {
    this.#options = options;
    this.#lastMs = options.clock.monotonicMs();
  }

  see(session: SessionId): void {
    this.#lastMs = this.#options.clock.monotonicMs();
    this.#seenMs.set(session, this.#lastMs);
  }

  /** The connection lasts until the returned function is called. */
  connect(session: SessionId): () => void {
    const add = (difference: number) =>
      this.#connections.set(session, (this.#connections.get(session) ?? 0) + difference);
    add(1);
    this.see(session);
    return () => {
      add(-1);
      this.see(session);
    };
  }

  /** Whether there is any reason to stay. */
  look(): boolean {
    const { clock, lingerMs, forget } = this.#options;
    const isOver = (sinceMs: number) => clock.monotonicMs() - sinceMs >= lingerMs;
    for (const [session, seenMs] of this.#seenMs) {
      if (this.#isThere(session)) this.see(session);
      else if (isOver(seenMs)) {
        this.#seenMs.delete(session);
        this.#connections.delete(session);
        forget(session);
      }
    }
    return this.#seenMs.size > 0 || !isOver(this.#lastMs);
  }

  #isThere(session: SessionId): boolean {
    if ((this.#connections.get(session) ?? 0) > 0) return true;
    const { home } = this.#options;
    const place = readPlace(home, session);
    // A granted place without its process no longer counts.
    if (place?.state === "waiting" || hasProcess(place)) return true;
    return readProcessRecord(sessionDirOf(home, session)) !== undefined;
  }
}
