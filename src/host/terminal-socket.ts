/**
 * Owns the way to a command's terminal: a window that connects sees the last screenful and what follows, and
 * types into it. For the program it is one terminal, however many windows show it, and also when none does.
 * Its size is that of the open window that was last active: by opening, by a new size, or by a key. When the
 * last window leaves, the size stays. Windows send frames; to the windows, everything is what the terminal
 * shows.
 */

import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type TerminalSize, terminalSize } from "../process/index.ts";
import { Replay } from "./replay.ts";
import { decodeText, FrameReader, KEYS, SIZE, TEXT, type TypedText } from "./terminal-frames.ts";
import { TerminalProgram } from "./terminal-program.ts";

/** How long a window may take to show the rest. */
const LAST_LOOK_MS = 500;
/** A window that is this far behind is closed; it can be opened again. */
const MAX_BEHIND_BYTES = 4 * 1024 * 1024;
/** If Enter comes at once with a text, programs take it for a part of the text. */
const ENTER_MS = 200;
/**
 * What a window's terminal sends by itself: answers to the program's questions, and that it has the focus. If
 * these counted as keys, two windows would take the size from each other for ever, with a program that asks
 * after each change of size.
 */
const ANSWERS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these.
  /\u001b(?:\[(?:[?>=][\d;:]*\$?[a-z]|[\d;]*[Rcnty]|[IO])|[\]P_][^\u0007\u001b]*(?:\u0007|\u001b\\))/g;

/** Callbacks of the process that opens a terminal. */
export interface TerminalEars {
  /**
   * A text is to be typed from outside: records that; `type` then types it. Without this callback, no text is
   * typed.
   */
  typed?(typed: TypedText, type: () => Promise<void>): Promise<void>;
  /** The last window was closed. */
  left?(): void;
}

export class TerminalSocket {
  readonly path: string;
  readonly #windows = new Set<Socket>();
  /** In the order in which they were last active. */
  readonly #sizes = new Map<Socket, TerminalSize>();
  readonly #server: Server;
  readonly #hears: TerminalEars;
  readonly #replay = new Replay();
  readonly #program = new TerminalProgram();
  #typing: Promise<void> = Promise.resolve();

  private constructor(path: string, hears: TerminalEars) {
    this.path = path;
    this.#hears = hears;
    this.#server = createServer((socket) => this.#open(socket));
  }

  static async open(path: string, hears: TerminalEars): Promise<TerminalSocket> {
    const terminal = new TerminalSocket(path, hears);
    rmSync(path, { force: true });
    terminal.#server.listen(path);
    await once(terminal.#server, "listening");
    return terminal;
  }

  /** The program runs. */
  connect(pid: number, input: Writable | null): void {
    this.#program.connect(pid, input);
  }

  show(chunk: Buffer): void {
    this.#replay.add(chunk);
    for (const window of this.#windows) {
      window.write(chunk);
      if (window.writableLength > MAX_BEHIND_BYTES) window.destroy();
    }
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    // The output that they have not seen yet is still on its way to them.
    for (const window of this.#windows) window.end();
    // A window that does not read at all is not waited for.
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
      this.#sizes.delete(window);
      this.#fit();
      if (this.#windows.size === 0) this.#hears.left?.();
    });
    window.write(this.#replay.bytes());
    const frames = new FrameReader();
    window.on("data", (chunk: Buffer) => {
      for (const { kind, payload } of frames.read(chunk)) this.#take(window, kind, payload);
    });
  }

  #take(window: Socket, kind: number, payload: Buffer): void {
    if (kind === KEYS) {
      this.#program.press(payload);
      if (payload.toString("latin1").replace(ANSWERS, "") !== "")
        this.#speaks(window, this.#sizes.get(window));
    }
    if (kind === SIZE && payload.length === 4)
      this.#speaks(window, terminalSize(payload.readUInt16BE(0), payload.readUInt16BE(2)));
    if (kind === TEXT) this.#typing = this.#typing.then(() => this.#type(window, decodeText(payload)));
  }

  /** When the connection ends, the caller finds on record what became of it. */
  async #type(from: Socket, typed: TypedText | undefined): Promise<void> {
    if (typed)
      await this.#hears
        .typed?.(typed, async () => {
          // As a window types it.
          const text = typed.text.replaceAll(/\r?\n/g, "\r");
          const isPasted = this.#replay.modes().isPasteBracketed;
          this.#program.press(Buffer.from(isPasted ? `\u001b[200~${text}\u001b[201~` : text));
          if (!typed.isEntered) return;
          await sleep(ENTER_MS);
          this.#program.press(Buffer.from("\r"));
        })
        .catch(() => {});
    from.end();
  }

  #speaks(window: Socket, size: TerminalSize | undefined): void {
    if (!size) return;
    this.#sizes.delete(window);
    this.#sizes.set(window, size);
    this.#fit();
  }

  #fit(): void {
    const size = [...this.#sizes.values()].at(-1);
    if (size) this.#program.fit(size);
  }
}
