/**
 * Owns how much the broker writes to its log. An agent that repeats a refused request again and again must
 * not fill the disk, and must not keep other lines out for good.
 */
import { type Clock, type Deadline, deadline } from "../util/index.ts";

const HOUR_MS = 60 * 60_000;
/** In an hour. */
const MAX_LINES = 500;

export class BrokerLog {
  readonly #clock: Clock;
  readonly #write: (text: string) => void;
  #hour: Deadline | undefined;
  /** In this hour. */
  readonly #said = new Set<string>();

  constructor(clock: Clock, write: (text: string) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  /** A line is written once in an hour. */
  say(line: string): void {
    if (!this.#hour || this.#hour.isPast) {
      this.#hour = deadline(this.#clock, HOUR_MS);
      this.#said.clear();
    }
    if (this.#said.has(line) || this.#said.size > MAX_LINES) return;
    this.#said.add(line);
    const text = this.#said.size > MAX_LINES ? "too many lines: others are left out for an hour" : line;
    this.#write(`${new Date(this.#clock.nowMs()).toISOString()} ${text}\n`);
  }
}
