/**
 * Owns what is shown of long work while it is under way. In a terminal: one line with a spinner, which goes away before
 * anything else is written and when the work is over, however it ends. Elsewhere: plain lines, the first one after a
 * second, then one every few seconds if there is something new, so that quick work shows nothing.
 *
 * It never keeps the process alive, and it draws also from work that leaves no time to timers.
 */
import { type OnProgress, type Progress, printable, systemClock } from "../util/index.ts";
import { bytes, elapsed, plural } from "./amounts.ts";

const FRAMES = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];
/** In a terminal: how often it is drawn. */
const DRAW_MS = 100;
/** What is over by then is not worth a flicker. */
const FIRST_DRAW_MS = 200;
const FIRST_LINE_MS = 1000;
const NEXT_LINE_MS = 5000;
const CLEAR_LINE = "\r\u001b[K";
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const DEFAULT_COLUMNS = 80;

/** Where it is shown: standard error, as far as it matters here. */
export interface ProgressTarget {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** Takes a plain line, with what it was made of. */
export type LineSink = (text: string, step: Progress, elapsedMs: number) => void;

export class ProgressDisplay {
  readonly #target: ProgressTarget;
  readonly #nowMs: () => number;
  #sink: LineSink | undefined;
  #step: Progress | undefined;
  #beganAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  #isDrawn = false;
  /** What was written last has no end of line: the next drawing would wipe it out. */
  #isMidLine = false;
  #lineAtMs: number | undefined;
  #lastText = "";
  readonly #onSignal = (signal: NodeJS.Signals) => {
    this.end();
    // Whoever else listens decides what becomes of us; else it is what it would have been.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };

  constructor(target: ProgressTarget, nowMs: () => number = systemClock.monotonicMs) {
    this.#target = target;
    this.#nowMs = nowMs;
  }

  /** From now on lines go there, and nothing is drawn. */
  divert(sink: LineSink): void {
    this.#sink = sink;
  }

  readonly step: OnProgress = (step) => {
    if (!this.#step) this.#begin();
    this.#step = step;
    this.tick();
  };

  /** Something else is about to be written. */
  clear(): void {
    if (this.#isDrawn) this.#target.write(CLEAR_LINE);
    this.#isDrawn = false;
    this.#isMidLine = false;
  }

  /** What was written last may end anywhere. */
  wrote(lastByte: number | undefined): void {
    this.#isMidLine = lastByte !== undefined && lastByte !== LINE_FEED;
  }

  /** The work is over. */
  end(): void {
    const isMidLine = this.#isMidLine;
    this.clear();
    this.#isMidLine = isMidLine;
    this.#step = undefined;
    clearInterval(this.#timer);
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
  }

  /** Shows what is due. */
  tick(): void {
    if (!this.#step) return;
    if (this.#isTerminal) this.#draw(this.#step);
    else this.#line(this.#step);
  }

  get #isTerminal(): boolean {
    return Boolean(this.#target.isTTY) && this.#sink === undefined;
  }

  #begin(): void {
    this.#beganAtMs = this.#nowMs();
    this.#lineAtMs = undefined;
    this.#lastText = "";
    // The time that it takes is shown also while it says nothing.
    this.#timer = setInterval(() => this.tick(), this.#isTerminal ? DRAW_MS : FIRST_LINE_MS).unref();
    if (this.#isTerminal) for (const signal of SIGNALS) process.on(signal, this.#onSignal);
  }

  #draw(step: Progress): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#beganAtMs < FIRST_DRAW_MS || nowMs - this.#drawnAtMs < DRAW_MS) return;
    this.#drawnAtMs = nowMs;
    const sinceMs = nowMs - this.#beganAtMs;
    const frame = FRAMES[Math.floor(sinceMs / DRAW_MS) % FRAMES.length];
    const text = `${frame} ${progressText(step)}, ${elapsed(sinceMs)}`;
    const width = (this.#target.columns || DEFAULT_COLUMNS) - 1;
    // A line that is too long would be two, and only one of them can be cleared.
    const shown = text.length <= width ? text : `${text.slice(0, width - 1)}…`;
    this.#target.write(`${this.#isMidLine ? "\n" : CLEAR_LINE}${shown}`);
    this.#isMidLine = false;
    this.#isDrawn = true;
  }

  #line(step: Progress): void {
    const nowMs = this.#nowMs();
    const sinceMs = nowMs - this.#beganAtMs;
    const dueAtMs =
      this.#lineAtMs === undefined ? this.#beganAtMs + FIRST_LINE_MS : this.#lineAtMs + NEXT_LINE_MS;
    const text = progressText(step);
    if (nowMs < dueAtMs || text === this.#lastText) return;
    this.#lineAtMs = nowMs;
    this.#lastText = text;
    const line = `${text}, ${elapsed(sinceMs)}`;
    if (this.#sink) this.#sink(line, step, Math.round(sinceMs));
    else this.#target.write(`${line}\n`);
  }
}

const LINE_FEED = 10;

/** What it is at, files and bytes: "checking out the base: 4500 of 30000 files, 120.4 MB". */
export function progressText({ what, files, ofFiles, bytes: count, ofBytes }: Progress): string {
  const counted = [
    files === undefined ? undefined : amount(files, ofFiles, String, (total) => plural(total, "file")),
    count === undefined ? undefined : amount(count, ofBytes, bytes, bytes),
  ].filter((text) => text !== undefined);
  return printable(what) + (counted.length > 0 ? `: ${counted.join(", ")}` : "");
}

/** A total that has turned out to be too small says nothing. */
function amount(
  done: number,
  total: number | undefined,
  part: (count: number) => string,
  whole: (count: number) => string,
): string {
  return total === undefined || done > total ? whole(done) : `${part(done)} of ${whole(total)}`;
}

/** The one of this process. */
export const progress = new ProgressDisplay(process.stderr);
