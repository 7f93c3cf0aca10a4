/**
 * Owns what is shown of long work while it is under way. In a terminal it is one line with a spinner, which
 * is cleared before other text is written and when the work ends, however it ends. Elsewhere it is plain
 * lines: the first after a second, then one every few seconds if something is new, so that quick work prints
 * nothing. It never keeps the process alive, and it also draws during work that blocks timers.
 */
import { type OnProgress, type Progress, systemClock } from "../util/index.ts";
import { elapsed } from "./amounts.ts";
import { DRAW_MS, ProgressLine, type ProgressTarget } from "./progress-line.ts";
import { progressText } from "./progress-text.ts";

const FIRST_LINE_MS = 1000;
const NEXT_LINE_MS = 5000;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Takes a plain line, and the facts that it was made of. */
type LineSink = (text: string, step: Progress, elapsedMs: number) => void;

/** Work that is under way. */
interface Work {
  readonly beganAtMs: number;
  step: Progress;
  /** When the next plain line is due, if something is new. */
  lineDueAtMs: number;
  lastText: string;
}

export class ProgressDisplay {
  readonly #target: ProgressTarget;
  readonly #nowMs: () => number;
  readonly #line: ProgressLine;
  #sink: LineSink | undefined;
  #work: Work | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #onSignal = (signal: NodeJS.Signals) => {
    this.end();
    // If another listener handles the signal, it decides what happens to this process; else the signal has
    // its usual effect.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };

  constructor(target: ProgressTarget, nowMs: () => number = systemClock.monotonicMs) {
    this.#target = target;
    this.#nowMs = nowMs;
    this.#line = new ProgressLine(target);
  }

  /** From now on plain lines go to this function, and nothing is drawn. */
  divert(sink: LineSink): void {
    this.#sink = sink;
  }

  readonly step: OnProgress = (step) => {
    if (this.#work) this.#work.step = step;
    else this.#begin(step);
    this.tick();
  };

  /** Other text is about to be written. */
  clear(): void {
    this.#line.giveWay();
  }

  /** The last text that was written may have no end of line. */
  wrote(lastByte: number | undefined): void {
    this.#line.wrote(lastByte);
  }

  /** The work is over. */
  end(): void {
    this.#line.wipe();
    this.#work = undefined;
    clearInterval(this.#timer);
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
  }

  /** Shows what is due. */
  tick(): void {
    if (!this.#work) return;
    const { beganAtMs, step } = this.#work;
    const nowMs = this.#nowMs();
    if (this.#isTerminal) this.#line.draw(step, { nowMs, sinceMs: nowMs - beganAtMs });
    else this.#writeLine(this.#work, nowMs);
  }

  get #isTerminal(): boolean {
    return Boolean(this.#target.isTTY) && this.#sink === undefined;
  }

  #begin(step: Progress): void {
    const beganAtMs = this.#nowMs();
    this.#work = { beganAtMs, step, lineDueAtMs: beganAtMs + FIRST_LINE_MS, lastText: "" };
    // The elapsed time is shown also while the work reports nothing.
    this.#timer = setInterval(() => this.tick(), this.#isTerminal ? DRAW_MS : FIRST_LINE_MS).unref();
    if (this.#isTerminal) for (const signal of SIGNALS) process.on(signal, this.#onSignal);
  }

  #writeLine(work: Work, nowMs: number): void {
    const text = progressText(work.step);
    if (nowMs < work.lineDueAtMs || text === work.lastText) return;
    work.lineDueAtMs = nowMs + NEXT_LINE_MS;
    work.lastText = text;
    const sinceMs = nowMs - work.beganAtMs;
    const line = `${text}, ${elapsed(sinceMs)}`;
    if (this.#sink) this.#sink(line, work.step, Math.round(sinceMs));
    else this.#target.write(`${line}\n`);
  }
}

/** The progress of this process. */
export const progress = new ProgressDisplay(process.stderr);
