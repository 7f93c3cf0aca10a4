/**
 * Owns what is sent to a terminal's socket: a frame is one byte for its kind (0: keys, 1: a size, 2: a text
 * to type), two bytes for the length, and as many bytes.
 */
import { HoldfastError } from "../contract/index.ts";

export const KEYS = 0;
export const SIZE = 1;
export const TEXT = 2;
const HEADER_BYTES = 3;
export const MAX_FRAME_BYTES = 0xffff;

/** A text that is typed for a person who has no window. */
export interface TypedText {
  /** The message under which it is on record. */
  readonly message: string;
  readonly from: string;
  readonly text: string;
  /** Whether Enter follows. */
  readonly isEntered: boolean;
}

export function encodeKeys(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += MAX_FRAME_BYTES)
    frames.push(encodeFrame(KEYS, bytes.subarray(at, at + MAX_FRAME_BYTES)));
  return frames;
}

export function encodeSize(columns: number, rows: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt16BE(columns, 0);
  payload.writeUInt16BE(rows, 2);
  return encodeFrame(SIZE, payload);
}

export function encodeText(typed: TypedText): Buffer {
  const payload = Buffer.from(JSON.stringify(typed));
  if (payload.length > MAX_FRAME_BYTES)
    throw new HoldfastError(
      "message_too_large",
      `the text to type is longer than ${MAX_FRAME_BYTES} bytes of JSON`,
    );
  return encodeFrame(TEXT, payload);
}

export function decodeText(payload: Buffer): TypedText | undefined {
  try {
    const value = JSON.parse(payload.toString("utf8")) as Partial<TypedText>;
    const { message, from, text, isEntered } = value;
    if (typeof message !== "string" || typeof from !== "string" || typeof text !== "string") return undefined;
    return { message, from, text, isEntered: isEntered === true };
  } catch {
    return undefined;
  }
}

function encodeFrame(kind: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(kind, 0);
  header.writeUInt16BE(payload.length, 1);
  return Buffer.concat([header, payload]);
}

/** Reads the frames of one connection, however it is cut. */
export class FrameReader {
  #rest = Buffer.alloc(0);

  *read(chunk: Buffer): Generator<{ readonly kind: number; readonly payload: Buffer }> {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + this.#rest.readUInt16BE(1);
      if (this.#rest.length < end) return;
      const frame = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(end);
      yield { kind: frame.readUInt8(0), payload: frame.subarray(HEADER_BYTES) };
    }
  }
}
