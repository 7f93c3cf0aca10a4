/**
 * Owns the output of the task that runs: one file in `log/`, in frames, for whoever looks on. It holds what the
 * command wrote, as it wrote it, so it goes when the journal has its excerpt; after a crash that is made from it.
 *
 * A frame is one byte that says which stream, four bytes that say how long, and as many bytes.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { Excerpt, type SessionState } from "../session/index.ts";
import { errorCode } from "../util/index.ts";

export const streams = { stdout: 1, stderr: 2, setup: 3 } as const;
export type StreamName = keyof typeof streams;

const HEADER_BYTES = 5;
/** What comes after that is not shown while it runs; the journal has the beginning and the end of it all. */
const MAX_SPOOL_BYTES = 64 * 1024 * 1024;

export const logDir = (sessionDir: string) => join(sessionDir, "log");

/** By whoever wants to look on from the start, before there is anything to see: it stays readable when it is gone. */
export function spoolPath(sessionDir: string, request: string): string {
  return join(logDir(sessionDir), `${request}.out`);
}

export class Spool {
  readonly #path: string;
  readonly #fd: number;
  #bytes = 0;

  constructor(sessionDir: string, request: string) {
    mkdirSync(logDir(sessionDir), { recursive: true, mode: 0o700 });
    this.#path = spoolPath(sessionDir, request);
    this.#fd = openSync(this.#path, "a", 0o600);
  }

  add(stream: StreamName, chunk: Buffer): void {
    if (this.#bytes > MAX_SPOOL_BYTES) return;
    this.#bytes += chunk.length;
    const isLast = this.#bytes > MAX_SPOOL_BYTES;
    this.#write(stream, chunk);
    if (isLast) this.#write("stderr", Buffer.from("\n[more than 64 MB of output: the rest is not shown]\n"));
  }

  #write(stream: StreamName, chunk: Buffer): void {
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt8(streams[stream], 0);
    header.writeUInt32BE(chunk.length, 1);
    try {
      const frame = Buffer.concat([header, chunk]);
      for (let at = 0; at < frame.length; ) at += writeSync(this.#fd, frame, at);
    } catch (error) {
      // Nobody's work depends on it: a full disk shows in the journal soon enough.
      if (!["ENOSPC", "EDQUOT", "EFBIG", "EIO"].includes(errorCode(error) ?? "")) throw error;
    }
  }

  /** Its content is in the journal. */
  remove(): void {
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
    if (stat && Date.now() - stat.mtimeMs > YOUNG_MS) rmSync(path, { force: true });
  }
}

const YOUNG_MS = 60_000;

export interface Frame {
  readonly stream: StreamName;
  readonly chunk: Buffer;
}

/** The whole frames at the beginning of some bytes, and how many bytes they are. */
export function readFrames(bytes: Buffer): { frames: Frame[]; length: number } {
  const frames: Frame[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= bytes.length) {
    const end = at + HEADER_BYTES + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) break;
    const code = bytes.readUInt8(at);
    const stream = (Object.keys(streams) as StreamName[]).find((name) => streams[name] === code);
    if (stream) frames.push({ stream, chunk: bytes.subarray(at + HEADER_BYTES, end) });
    at = end;
  }
  return { frames, length: at };
}

/**
 * What a command had written when its session process was killed: for whoever closes the turn that it cut off. When
 * that is on record, it is not kept here any more: it has secrets in it, and the next turn has an output of its own.
 */
export class CutOutput {
  readonly #sessionDir: string;
  #request: string | undefined;

  constructor(sessionDir: string) {
    this.#sessionDir = sessionDir;
  }

  readonly read = ({ task }: Pick<SessionState, "task">): string => {
    const excerpt = new Excerpt();
    this.#request = task?.request ?? undefined;
    for (const { stream, chunk } of this.#request ? spooledFrames(this.#sessionDir, this.#request) : [])
      if (stream !== "setup") excerpt.add(chunk);
    return excerpt.text;
  };

  /** It is on record. */
  recorded(): void {
    if (this.#request === undefined) return;
    const path = spoolPath(this.#sessionDir, this.#request);
    if (existsSync(path)) truncateSync(path);
  }
}

function spooledFrames(sessionDir: string, request: string): Frame[] {
  try {
    return readFrames(readFileSync(spoolPath(sessionDir, request))).frames;
  } catch {
    return [];
  }
}
