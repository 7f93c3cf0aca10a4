/**
 * Owns the line with a spinner that a terminal shows while long work is under way: when it is drawn, how it
 * fits, and that it is cleared without a trace.
 */
import type { Progress } from "../util/index.ts";
import { elapsed } from "./amounts.ts";
import { progressText } from "./progress-text.ts";

const FRAMES = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];
/** How often it is drawn. */
export const DRAW_MS = 100;
/** Work that is over by then shows no line, because a flicker tells nothing. */
const FIRST_DRAW_MS = 200;
const CLEAR_LINE = "\r\u001b[K";
const LINE_FEED = 10;
const DEFAULT_COLUMNS = 80;

/** Where it is drawn: the parts of standard error that are needed here. */
export interface ProgressTarget {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

export class ProgressLine {
  readonly #target: ProgressTarget;
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  #isDrawn = false;
  /** The last text that was written has no end of line, so the next drawing would wipe it out. */
  #isMidLine = false;

  constructor(target: ProgressTarget) {
    this.#target = target;
  }

  draw(step: Progress, { nowMs, sinceMs }: { readonly nowMs: number; readonly sinceMs: number }): void {
    if (sinceMs < FIRST_DRAW_MS || nowMs - this.#drawnAtMs < DRAW_MS) return;
    this.#drawnAtMs = nowMs;
    const frame = FRAMES[Math.floor(sinceMs / DRAW_MS) % FRAMES.length];
    const text = `${frame} ${progressText(step)}, ${elapsed(sinceMs)}`;
    const width = (this.#target.columns || DEFAULT_COLUMNS) - 1;
    // A line that is too long would become two, and only one of them can be cleared.
    const shown = text.length <= width ? text : `${text.slice(0, width - 1)}…`;
    this.#target.write(`${this.#isMidLine ? "\n" : CLEAR_LINE}${shown}`);
    this.#isMidLine = false;
    this.#isDrawn = true;
  }

  /** Clears the line, and draws nothing in its place. */
  wipe(): void {
    if (this.#isDrawn) this.#target.write(CLEAR_LINE);
    this.#isDrawn = false;
  }

  /** Other text is about to be written, from the beginning of a line. */
  giveWay(): void {
    this.wipe();
    this.#isMidLine = false;
  }

  /** The last text that was written may have no end of line. */
  wrote(lastByte: number | undefined): void {
    this.#isMidLine = lastByte !== undefined && lastByte !== LINE_FEED;
  }
}
