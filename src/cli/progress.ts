/**
 * Owns what is shown of long work while it is under way. In a terminal: one line with a spinner, which goes away before
 * anything else is written and when the work is over, however it ends. Elsewhere: plain lines, the first one after a
 * second, then one every few seconds if there is something new, so that quick work shows nothing.
 *
 * It never keeps the process alive, and it draws also from work that leaves no time to timers.
 */
import { type OnProgress, type Progress, systemClock } from "../util/index.ts";
import { elapsed } from "./amounts.ts";
import { DRAW_MS, ProgressLine, type ProgressTarget } from "./progress-line.ts";
import { progressText } from "./progress-text.ts";

const FIRST_LINE_MS = 1000;
const NEXT_LINE_MS = 5000;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Takes a plain line, with what it was made of. */
type LineSink = (text: string, step: Progress, elapsedMs: number) => void;

/** Work that is under way. */
interface Work {
  readonly beganAtMs: number;
  step: Progress;
  /** The next plain line is due then, if it says something new. */
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
    // Whoever else listens decides what becomes of us; else it is what it would have been.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };

  constructor(target: ProgressTarget, nowMs: () => number = systemClock.monotonicMs) {
    this.#target = target;
    this.#nowMs = nowMs;
    this.#line = new ProgressLine(target);
  }

  /** From now on lines go there, and nothing is drawn. */
  divert(sink: LineSink): void {
    this.#sink = sink;
  }

  readonly step: OnProgress = (step) => {
    if (this.#work) this.#work.step = step;
    else this.#begin(step);
    this.tick();
  };

  /** Something else is about to be written. */
  clear(): void {
    this.#line.giveWay();
  }

  /** What was written last may end anywhere. */
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
    // The time that it takes is shown also while it says nothing.
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

/** The one of this process. */
export const progress = new ProgressDisplay(process.stderr);
