/**
 * Owns the output of the task that runs: one file in `log/`, in frames, for whoever looks on. It holds what the
 * command wrote, as it wrote it but for values of its environment, so it goes when all of it is kept without secrets;
 * after a crash that is made from it.
 */
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Secret, ValueFilter, withoutBegun } from "../redaction/index.ts";
import { ageMs, errorCode, logDir } from "../util/index.ts";
import { END_CODE, encodeFrame, type Left, type OutputStream, spoolPath, streams } from "./frames.ts";

/** Of what set-up says, which is for whoever looks on, and not kept. */
const SETUP_MB = 64;
const MEGABYTE = 1024 * 1024;
/** Beyond the limit, so that a secret which reaches over it is seen whole. */
const MARGIN_BYTES = 64 * 1024;

export class Spool {
  readonly request: string;
  readonly #path: string;
  readonly #fd: number;
  readonly #known: () => readonly Secret[];
  readonly #filters = new Map<OutputStream, ValueFilter>();
  #limit = { bytes: SETUP_MB * MEGABYTE, why: `set-up said more than ${SETUP_MB} MB` };
  #bytes = 0;
  #left: { why: string; leftBytes: number } | undefined;

  constructor(sessionDir: string, request: string, known: () => readonly Secret[]) {
    this.#known = known;
    mkdirSync(logDir(sessionDir), { recursive: true, mode: 0o700 });
    this.request = request;
    this.#path = spoolPath(sessionDir, request);
    this.#fd = openSync(this.#path, "a", 0o600);
  }

  /** From here on it is the command that writes, and so much of that is kept. */
  begin({ limitMb, limitBytes }: { readonly limitMb: number; readonly limitBytes: number }): void {
    this.end();
    this.#limit = { bytes: limitBytes, why: `output_mb is ${limitMb}` };
    this.#bytes = 0;
    this.#left = undefined;
  }

  /** What the command wrote and is not here. */
  get left(): Left | undefined {
    return this.#left;
  }

  add(stream: OutputStream, chunk: Buffer): void {
    const isFull = this.#bytes >= this.#limit.bytes + MARGIN_BYTES;
    if (isFull && !this.#left) this.#endWith(this.#limit.why);
    // What could not be written may stand there in part: nothing may come behind it.
    else if (!this.#left && !this.#writeOutput(stream, this.#filter(stream).push(chunk)))
      this.#left = { why: "the disk was full", leftBytes: 0 };
    if (this.#left) this.#left.leftBytes += chunk.length;
    else this.#bytes += chunk.length;
  }

  /** What is no output: it does not count as such, and is not missed where there is no room. */
  addAside(stream: "progress" | "refused", chunk: Buffer): void {
    if (!this.#left) this.#write(streams[stream], chunk);
  }

  #endWith(why: string): void {
    // What may be the beginning of a value stays out, because its end does.
    const heldBack = [...this.#filters.values()].map((filter) => filter.end().length);
    this.#filters.clear();
    this.#left = { why, leftBytes: heldBack.reduce((sum, bytes) => sum + bytes, 0) };
    this.#write(END_CODE, Buffer.from(why));
  }

  #filter(stream: OutputStream): ValueFilter {
    const filter = this.#filters.get(stream) ?? new ValueFilter(this.#known);
    this.#filters.set(stream, filter);
    return filter;
  }

  #writeOutput(stream: OutputStream, chunk: Buffer): boolean {
    return chunk.length === 0 || this.#write(streams[stream], chunk);
  }

  /** False: there was no room for it. */
  #write(code: number, chunk: Buffer): boolean {
    const frame = encodeFrame(code, chunk);
    try {
      for (let at = 0; at < frame.length; ) at += writeSync(this.#fd, frame, at);
      return true;
    } catch (error) {
      // Nobody's work depends on it: a full disk shows in the journal soon enough.
      if (!["ENOSPC", "EDQUOT", "EFBIG", "EIO"].includes(errorCode(error) ?? "")) throw error;
      return false;
    }
  }

  /** Nothing follows: what was held back as the beginning of a value is written, unless it is too much for an accident. */
  end(): void {
    const secrets = this.#known();
    for (const [stream, filter] of this.#filters)
      if (!this.#left) this.#writeOutput(stream, withoutBegun(filter.end(), secrets));
    this.#filters.clear();
  }

  /** It is kept, or nobody needs it. Whoever has it open reads it to its end. */
  remove(): void {
    this.end();
    rmSync(this.#path, { force: true });
    closeSync(this.#fd);
  }
}

/** Of tasks that are over: what could not be removed in time. A young one may be of a task that is on its way. */
export function removeOldSpools(sessionDir: string, isNeeded: (request: string) => boolean): void {
  for (const name of readdirSync(logDir(sessionDir))) {
    if (!name.endsWith(".out") || isNeeded(name.slice(0, -".out".length))) continue;
    const path = join(logDir(sessionDir), name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat && ageMs(stat) > YOUNG_MS) rmSync(path, { force: true });
  }
}

const YOUNG_MS = 60_000;
