/**
 * Owns the stream of a session's records (server-sent events): each with its seq as its id, so that whoever was cut
 * off goes on behind the last one that they have. A reader who is slow is waited for; nobody else is.
 */
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { JOURNAL_START, loadLongFields, type Position, readDurable } from "../journal/index.ts";
import { type Clock, journalDir } from "../util/index.ts";

/** A session may be appended to by a process that has no bell; so its files are looked at. */
const LOOK_MS = 100;
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
      const before = stampOf(sessionDir);
      for await (const { record, end } of readDurable(sessionDir, { from: position })) {
        position = end;
        const whole = { ...record, data: await loadLongFields(sessionDir, record) };
        await write(response, `id: ${record.seq}\nevent: ${record.type}\ndata: ${JSON.stringify(whole)}\n\n`);
        if (gone.signal.aborted) return;
      }
      while (stampOf(sessionDir) === before && !gone.signal.aborted && !this.#stop.aborted) {
        if (this.#clock.monotonicMs() > aliveAtMs) {
          await write(response, ":\n\n");
          aliveAtMs = this.#clock.monotonicMs() + ALIVE_MS;
        }
        await this.#look(sessionDir);
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

/** Changes with every append. */
function stampOf(sessionDir: string): string {
  try {
    const dir = journalDir(sessionDir);
    const last = readdirSync(dir).sort().at(-1) ?? "";
    return `${last} ${statSync(join(dir, last)).size}`;
  } catch {
    return "";
  }
}

async function write(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed || response.write(text)) return;
  await Promise.race([once(response, "drain"), once(response, "close")]);
}
