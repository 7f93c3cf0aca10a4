/**
 * Owns the way of progress from a session process to whoever looks on: small frames among the output of its task, which
 * are no part of that output. An empty one says that the work is over.
 */
import { type OnProgress, type Progress, parseObject, present } from "../util/index.ts";
import type { Spool } from "./spool.ts";

/** As long as it is the same work. */
const SPEAK_MS = 250;

export class SpooledProgress {
  readonly #spool: Spool;
  readonly #news: () => void;
  #said: Progress | undefined;
  /** Not said yet: it came too soon. */
  #unsaid: Progress | undefined;
  #spokeAtMs = 0;

  constructor(spool: Spool, news: () => void) {
    this.#spool = spool;
    this.#news = news;
  }

  readonly onProgress: OnProgress = (step) => {
    const isSame = step.what === this.#said?.what;
    if (!isSame) this.#catchUp();
    this.#unsaid = step;
    if (!isSame || performance.now() - this.#spokeAtMs >= SPEAK_MS) this.#catchUp();
  };

  /** Nothing of it is under way any more: what comes next is the command's. */
  end(): void {
    if (!this.#said) return;
    this.#catchUp();
    this.#said = undefined;
    this.#add("");
  }

  #catchUp(): void {
    if (!this.#unsaid) return;
    this.#said = this.#unsaid;
    this.#unsaid = undefined;
    this.#spokeAtMs = performance.now();
    this.#add(JSON.stringify(this.#said));
  }

  #add(text: string): void {
    this.#spool.addAside("progress", Buffer.from(text));
    this.#news();
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
