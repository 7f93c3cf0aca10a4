/**
 * Owns the way to a command's terminal: whoever connects sees its last screenful and what follows, and types into
 * it. To the program it is one terminal, however many look on, and also when nobody does.
 *
 * Towards us, a frame is one byte that says what it is (0: keys, 1: a size), two bytes that say how long, and as
 * many bytes. Towards the window, everything is what the terminal shows.
 */

import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import type { Writable } from "node:stream";
import { resizeTerminal, type TerminalSize, terminalSize } from "../process/index.ts";

const KEYS = 0;
const SIZE = 1;
const HEADER_BYTES = 3;
const MAX_FRAME_BYTES = 0xffff;
/** A screenful with all its colours. */
const REPLAY_BYTES = 64 * 1024;
const LAST_LOOK_MS = 500;
/** A window that is this far behind is closed; it can be opened again. */
const MAX_BEHIND_BYTES = 4 * 1024 * 1024;

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

function encodeFrame(kind: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(kind, 0);
  header.writeUInt16BE(payload.length, 1);
  return Buffer.concat([header, payload]);
}

export class TerminalSocket {
  readonly path: string;
  readonly #windows = new Set<Socket>();
  readonly #server: Server;
  #recent = Buffer.alloc(0);
  #pid = 0;
  #input: Writable | undefined;
  /** What was typed before the program could be reached, and how large the window is. */
  #early = Buffer.alloc(0);
  #size: TerminalSize = terminalSize(0, 0);
  #resizing: Promise<void> = Promise.resolve();

  readonly #onLeft: () => void;

  private constructor(path: string, onLeft: () => void) {
    this.path = path;
    this.#onLeft = onLeft;
    this.#server = createServer((socket) => this.#open(socket));
  }

  /** `onLeft`: the last window was closed. */
  static async open(path: string, onLeft = () => {}): Promise<TerminalSocket> {
    const terminal = new TerminalSocket(path, onLeft);
    rmSync(path, { force: true });
    terminal.#server.listen(path);
    await once(terminal.#server, "listening");
    return terminal;
  }

  /** The program runs. */
  connect(pid: number, input: Writable | null): void {
    this.#pid = pid;
    this.#input = input ?? undefined;
    this.#input?.write(this.#early);
    this.#resize();
  }

  show(chunk: Buffer): void {
    this.#recent = Buffer.from(Buffer.concat([this.#recent, chunk]).subarray(-REPLAY_BYTES));
    for (const window of this.#windows) {
      window.write(chunk);
      if (window.writableLength > MAX_BEHIND_BYTES) window.destroy();
    }
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    // What they have not seen yet is still on its way to them.
    for (const window of this.#windows) window.end();
    // One that does not look at all is not waited for.
    const timer = setTimeout(() => {
      for (const window of this.#windows) window.destroy();
    }, LAST_LOOK_MS);
    await closed;
    clearTimeout(timer);
  }

  #open(window: Socket): void {
    this.#windows.add(window);
    window.on("error", () => {});
    window.on("close", () => {
      this.#windows.delete(window);
      if (this.#windows.size === 0) this.#onLeft();
    });
    window.write(this.#recent);
    let rest = Buffer.alloc(0);
    window.on("data", (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= HEADER_BYTES) {
        const end = HEADER_BYTES + rest.readUInt16BE(1);
        if (rest.length < end) return;
        this.#take(rest.readUInt8(0), rest.subarray(HEADER_BYTES, end));
        rest = rest.subarray(end);
      }
    });
  }

  #take(kind: number, payload: Buffer): void {
    if (kind === KEYS && this.#input) this.#input.write(payload);
    else if (kind === KEYS) this.#early = Buffer.concat([this.#early, payload]).subarray(0, MAX_FRAME_BYTES);
    if (kind !== SIZE || payload.length !== 4) return;
    this.#size = terminalSize(payload.readUInt16BE(0), payload.readUInt16BE(2));
    this.#resize();
  }

  #resize(): void {
    if (this.#pid === 0) return;
    // One after the other, and each with the size that is the last by then.
    this.#resizing = this.#resizing.then(() => resizeTerminal(this.#pid, this.#size)).catch(() => {});
  }
}
