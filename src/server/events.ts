/**
 * Owns the stream of a session's records (server-sent events). Each has its seq as its id, so a client that
 * was cut off goes on after the last record that it has. A client that reads slowly is waited for, and holds
 * up no other client.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { HomeEvent } from "../face/index.ts";
import { JOURNAL_START, journalStamp, loadLongFields, type Position, readDurable } from "../journal/index.ts";
import type { Clock } from "../util/index.ts";

/** A session may be appended to by a process that has no bell; so its files are looked at. */
const LOOK_MS = 100;
/** A client has to see that the server is still there, though nothing happens. */
const ALIVE_MS = 15_000;

export class EventStreams {
  /** One look for all who follow the same session. */
  readonly #changes = new Map<string, Promise<void>>();
  readonly #clock: Clock;
  readonly #stop: AbortSignal;

  constructor(clock: Clock, stop: AbortSignal) {
    this.#clock = clock;
    this.#stop = stop;
  }

  /** Damage that stands before the first record is an answer of its own: a client that was cut off asks no more. */
  async send(response: ServerResponse, sessionDir: string, afterSeq: number): Promise<void> {
    let position: Position = JOURNAL_START;
    for await (const { record, end } of readDurable(sessionDir)) {
      if (record.seq > afterSeq) break;
      position = end;
    }
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.flushHeaders();
    let aliveAtMs = this.#clock.monotonicMs() + ALIVE_MS;
    while (!gone.signal.aborted && !this.#stop.aborted) {
      const before = journalStamp(sessionDir);
      for await (const { record, end } of readDurable(sessionDir, { from: position })) {
        position = end;
        const whole = { ...record, data: await loadLongFields(sessionDir, record) };
        await write(response, `id: ${record.seq}\nevent: ${record.type}\ndata: ${JSON.stringify(whole)}\n\n`);
        if (gone.signal.aborted) return;
      }
      while (journalStamp(sessionDir) === before && !gone.signal.aborted && !this.#stop.aborted) {
        if (this.#clock.monotonicMs() > aliveAtMs) {
          await write(response, ":\n\n");
          aliveAtMs = this.#clock.monotonicMs() + ALIVE_MS;
        }
        await this.#look(sessionDir);
      }
    }
    response.end();
  }

  /** The records of all sessions, each with a cursor as its id. A cursor that can't be continued after is an answer of its own. */
  async sendAll(
    response: ServerResponse,
    eventsFor: (signal: AbortSignal) => AsyncGenerator<HomeEvent>,
  ): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#stop]);
    const events = eventsFor(signal);
    // Said only once there is something to say, or nothing has failed for a moment.
    let next = events.next();
    await Promise.race([next, sleep(LOOK_MS * 2, undefined, { ref: false })]);
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.flushHeaders();
    // One timer, however many records come.
    const quiet = () => sleep(ALIVE_MS, "alive" as const, { ref: false });
    let alive = quiet();
    for (;;) {
      const event = await Promise.race([next, alive]);
      if (event === "alive") {
        await write(response, ":\n\n");
        alive = quiet();
      } else if (event.done || signal.aborted) break;
      else {
        const { cursor, session, record } = event.value;
        const data = JSON.stringify({ session, ...record });
        await write(response, `id: ${cursor}\nevent: ${record.type}\ndata: ${data}\n\n`);
        next = events.next();
      }
    }
    response.end();
  }

  #look(sessionDir: string): Promise<void> {
    const looking =
      this.#changes.get(sessionDir) ??
      sleep(LOOK_MS, undefined, { ref: false }).then(() => {
        this.#changes.delete(sessionDir);
      });
    this.#changes.set(sessionDir, looking);
    return looking;
  }
}

async function write(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed || response.write(text)) return;
  await Promise.race([once(response, "drain"), once(response, "close")]);
}
