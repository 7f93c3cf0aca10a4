/**
 * Owns the output of the running task: one file in `log/`, in frames, for processes that show it. It holds
 * what the command wrote, unchanged except for values of its environment, so it is removed when all of it is
 * kept without secrets. After a crash, the kept output is made from it.
 */
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Secret, ValueFilter, withoutBegun } from "../redaction/index.ts";
import { ageMs, errorCode, logDir } from "../util/index.ts";
import { END_CODE, encodeFrame, type Left, type OutputStream, spoolPath, streams } from "./frames.ts";

/** The limit for the output of set-up, which is only shown, and not kept. */
const SETUP_MB = 64;
const MEGABYTE = 1024 * 1024;
/** Written beyond the limit, so that a secret which reaches over it is seen whole. */
const MARGIN_BYTES = 64 * 1024;

export class Spool {
  readonly request: string;
  readonly #path: string;
  readonly #fd: number;
  readonly #known: () => readonly Secret[];
  readonly #filters = new Map<OutputStream, ValueFilter>();
  #limit = { bytes: SETUP_MB * MEGABYTE, why: `set-up wrote more than ${SETUP_MB} MB` };
  #bytes = 0;
  #left: { why: string; leftBytes: number } | undefined;

  constructor(sessionDir: string, request: string, known: () => readonly Secret[]) {
    this.#known = known;
    mkdirSync(logDir(sessionDir), { recursive: true, mode: 0o700 });
    this.request = request;
    this.#path = spoolPath(sessionDir, request);
    this.#fd = openSync(this.#path, "a", 0o600);
  }

  /** From here on it is the command that writes, and this much of its output is kept. */
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
    // A frame that could not be written may be there in part, so nothing may follow it.
    else if (!this.#left && !this.#writeOutput(stream, this.#filter(stream).push(chunk)))
      this.#left = { why: "the disk was full", leftBytes: 0 };
    if (this.#left) this.#left.leftBytes += chunk.length;
    else this.#bytes += chunk.length;
  }

  /** Frames that are no output: they do not count as output, and are left out if there is no room. */
  addAside(stream: "progress" | "refused", chunk: Buffer): void {
    if (!this.#left) this.#write(streams[stream], chunk);
  }

  #endWith(why: string): void {
    // The possible beginning of a value is held back, because its end would be removed.
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
      // No work depends on this file: a full disk shows in the journal soon enough.
      if (!["ENOSPC", "EDQUOT", "EFBIG", "EIO"].includes(errorCode(error) ?? "")) throw error;
      return false;
    }
  }

  /**
   * Nothing follows: what was held back as the beginning of a value is written, unless it is too long to be a
   * coincidence.
   */
  end(): void {
    const secrets = this.#known();
    for (const [stream, filter] of this.#filters)
      if (!this.#left) this.#writeOutput(stream, withoutBegun(filter.end(), secrets));
    this.#filters.clear();
  }

  /** It is kept, or no longer needed. A process that has it open reads it to its end. */
  remove(): void {
    this.end();
    rmSync(this.#path, { force: true });
    closeSync(this.#fd);
  }
}

/**
 * Removes files of tasks that are over, which could not be removed in time. A young file may belong to a task
 * that is about to begin.
 */
export function removeOldSpools(sessionDir: string, isNeeded: (request: string) => boolean): void {
  for (const name of readdirSync(logDir(sessionDir))) {
    if (!name.endsWith(".out") || isNeeded(name.slice(0, -".out".length))) continue;
    const path = join(logDir(sessionDir), name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat && ageMs(stat) > YOUNG_MS) rmSync(path, { force: true });
  }
}

const YOUNG_MS = 60_000;
