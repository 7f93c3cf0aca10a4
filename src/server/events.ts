/**
 * Owns the event streams of the API (server-sent events): the records of one session, each with its seq as its id, and
 * those of all sessions, each with a cursor. A client that was cut off continues after the last record that it has. A
 * client that reads slowly delays only its own stream.
 */
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { HomeStream } from "../face/index.ts";
import { JOURNAL_START, journalStamp, loadLongFields, type Position, readDurable } from "../journal/index.ts";
import type { Clock } from "../util/index.ts";
import { writeTo } from "./bytes.ts";

/** A process without a bell may append to a session, so the server looks at the session's files. */
const LOOK_MS = 100;
/** If nothing happens for this long, the server sends a comment, so that the client knows that it is still there. */
const ALIVE_MS = 15_000;
const EVENT_STREAM = { "content-type": "text/event-stream", "cache-control": "no-store" };

export class EventStreams {
  /** One look for all who follow the same session. */
  readonly #changes = new Map<string, Promise<void>>();
  readonly #clock: Clock;
  readonly #stop: AbortSignal;

  constructor(clock: Clock, stop: AbortSignal) {
    this.#clock = clock;
    this.#stop = stop;
  }

  /** Damage before the first record that would be sent is answered with a failure: then the client stops asking. */
  async send(response: ServerResponse, sessionDir: string, afterSeq: number): Promise<void> {
    let position: Position = JOURNAL_START;
    for await (const { record, end } of readDurable(sessionDir)) {
      if (record.seq > afterSeq) break;
      position = end;
    }
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    response.writeHead(200, EVENT_STREAM);
    response.flushHeaders();
    let aliveAtMs = this.#clock.monotonicMs() + ALIVE_MS;
    while (!gone.signal.aborted && !this.#stop.aborted) {
      const before = journalStamp(sessionDir);
      for await (const { record, end } of readDurable(sessionDir, { from: position })) {
        position = end;
        const whole = { ...record, data: await loadLongFields(sessionDir, record) };
        await writeTo(
          response,
          `id: ${record.seq}\nevent: ${record.type}\ndata: ${JSON.stringify(whole)}\n\n`,
        );
        if (gone.signal.aborted) return;
      }
      while (journalStamp(sessionDir) === before && !gone.signal.aborted && !this.#stop.aborted) {
        if (this.#clock.monotonicMs() > aliveAtMs) {
          await writeTo(response, ":\n\n");
          aliveAtMs = this.#clock.monotonicMs() + ALIVE_MS;
        }
        await this.#look(sessionDir);
      }
    }
    response.end();
  }

  /** Sends the records of all sessions, each with a cursor as its id. */
  async sendAll(response: ServerResponse, stream: HomeStream): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#stop]);
    response.writeHead(200, EVENT_STREAM);
    response.flushHeaders();
    const events = stream.records(signal);
    let next = events.next();
    // One timer, however many records come.
    const quiet = () => sleep(ALIVE_MS, "alive" as const, { ref: false });
    let alive = quiet();
    for (;;) {
      const event = await Promise.race([next, alive]);
      if (event === "alive") {
        await writeTo(response, ":\n\n");
        alive = quiet();
      } else if (event.done || signal.aborted) break;
      else {
        const { cursor, session, record } = event.value;
        const data = JSON.stringify({ session, ...record });
        await writeTo(response, `id: ${cursor}\nevent: ${record.type}\ndata: ${data}\n\n`);
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
