/**
 * Owns the form of a spool, the file with the output of a running task, and reading it. A process that has it
 * open can read it to the end after it was removed.
 *
 * A frame is one byte for the stream, four bytes for the length, and as many bytes. In place of a stream, the
 * last frame may say why nothing follows it.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { notKept } from "../session/index.ts";
import { logDir } from "../util/index.ts";

export const streams = { stdout: 1, stderr: 2, setup: 3, progress: 5, refused: 6 } as const;
type StreamName = keyof typeof streams;
export type OutputStream = Exclude<StreamName, "progress" | "refused">;

/** What the command itself wrote. */
export const isOfCommand = (stream: StreamName): stream is "stdout" | "stderr" =>
  stream === "stdout" || stream === "stderr";

const HEADER_BYTES = 5;
/** Stands in place of a stream. */
export const END_CODE = 4;
const CHUNK_BYTES = 1024 * 1024;

/** What is missing from a spool because there was too much of it. */
export interface Left {
  readonly why: string;
  /** Null: it was not counted. */
  readonly leftBytes: number | null;
}

/**
 * Makes the file for a reader that wants to see the output from the start, before there is any. It can be
 * read on after it was removed.
 */
export function spoolPath(sessionDir: string, request: string): string {
  return join(logDir(sessionDir), `${request}.out`);
}

export function encodeFrame(code: number, chunk: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(code, 0);
  header.writeUInt32BE(chunk.length, 1);
  return Buffer.concat([header, chunk]);
}

export interface Frame {
  readonly stream: StreamName;
  readonly chunk: Buffer;
  /** A frame that the command did not write: it says why nothing follows it. */
  readonly why?: string;
}

/** The whole frames at the beginning of some bytes, and how many bytes they take. */
export function readFrames(bytes: Buffer): { frames: Frame[]; length: number } {
  const frames: Frame[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= bytes.length) {
    const end = at + HEADER_BYTES + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) break;
    const frame = frameOf(bytes.readUInt8(at), bytes.subarray(at + HEADER_BYTES, end));
    if (frame) frames.push(frame);
    at = end;
  }
  return { frames, length: at };
}

function frameOf(code: number, chunk: Buffer): Frame | undefined {
  if (code === END_CODE) {
    const why = chunk.toString("utf8");
    return { stream: "stderr", chunk: Buffer.from(notKept(why, null)), why };
  }
  const stream = (Object.keys(streams) as StreamName[]).find((name) => streams[name] === code);
  return stream && { stream, chunk };
}

/** The whole content of a spool; empty if there is none. */
export function* readSpool(sessionDir: string, request: string): Generator<Frame> {
  const fd = openIfThere(spoolPath(sessionDir, request));
  if (fd === undefined) return;
  try {
    yield* readFramesOf(fd);
  } finally {
    closeSync(fd);
  }
}

export function* readFramesOf(fd: number): Generator<Frame> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let rest = Buffer.alloc(0);
  for (let position = 0; ; ) {
    const count = readSync(fd, buffer, 0, buffer.length, position);
    if (count === 0) return;
    position += count;
    const bytes = Buffer.concat([rest, buffer.subarray(0, count)]);
    const { frames, length } = readFrames(bytes);
    rest = bytes.subarray(length);
    yield* frames;
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch {
    return undefined;
  }
}
