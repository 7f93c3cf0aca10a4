/**
 * Owns how progress gets from a session process to the processes that show it: as small frames among the
 * output of its task, which are no part of that output. An empty frame says that the work is over.
 */
import { type Clock, type OnProgress, type Progress, parseObject, present } from "../util/index.ts";
import type { Spool } from "./spool.ts";

/**
 * The time between two reports, and before the first one: work that is over by then is not worth a report.
 */
const SPEAK_MS = 250;

export class SpooledProgress {
  readonly #clock: Clock;
  readonly #add: (text: string) => void;
  readonly #speakMs: number;
  #step: Progress | undefined;
  /** The last report on the work that is under way; empty: there was none yet. */
  #said = "";
  #speakAtMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(spool: Spool, clock: Clock, news: () => void, speakMs = SPEAK_MS) {
    this.#clock = clock;
    this.#add = (text) => {
      spool.addAside("progress", Buffer.from(text));
      news();
    };
    this.#speakMs = speakMs;
  }

  readonly onProgress: OnProgress = (step) => {
    if (!this.#step) this.#begin();
    const isOther = this.#said !== "" && step.what !== this.#step?.what;
    // How far the last report was.
    if (isOther) this.#speak();
    this.#step = step;
    // Work that blocks timers still comes through here.
    if (isOther || this.#clock.monotonicMs() >= this.#speakAtMs) this.#speak();
  };

  /** None of it is under way any more: what follows is the command's. */
  end(): void {
    clearInterval(this.#timer);
    this.#step = undefined;
    if (this.#said !== "") this.#add("");
    this.#said = "";
  }

  #begin(): void {
    this.#speakAtMs = this.#clock.monotonicMs() + this.#speakMs;
    this.#timer = setInterval(() => this.#speak(), SPEAK_MS).unref();
  }

  #speak(): void {
    const text = JSON.stringify(this.#step);
    this.#speakAtMs = this.#clock.monotonicMs() + this.#speakMs;
    if (text === this.#said) return;
    this.#said = text;
    this.#add(text);
  }
}

/** Null: it is over. */
export function readProgress(chunk: Buffer): Progress | null {
  const step = parseObject(chunk.toString("utf8"));
  if (typeof step?.["what"] !== "string") return null;
  const count = (name: string) => (typeof step[name] === "number" ? step[name] : undefined);
  const [files, ofFiles, bytes, ofBytes] = ["files", "ofFiles", "bytes", "ofBytes"].map(count);
  return { what: step["what"], ...present({ files, ofFiles, bytes, ofBytes }) };
}
