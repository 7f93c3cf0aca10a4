/**
 * Owns the messages between a session process and its starter, one a line, over a connection that the starter
 * hands down. A process that was started before its session was known is told by the starter which one it is.
 * If the starter is about to open the session, it sends `opened` when the session exists and is free. The
 * process sends `ready` when it has the session, `taken in` when it has looked into its inbox, or the reason
 * why it can't.
 *
 * Either side may be killed at any moment, and the other one then reads the end of the connection. For the
 * process it means that its starter will open nothing any more; for the starter, that the process is gone, or
 * has nothing more to report.
 */
import { Socket } from "node:net";
import { CONNECTION_FD, type Connected } from "../process/index.ts";
import { type Deadline, News } from "../util/index.ts";

/** How long it waits for news alone before it looks by itself. */
const LOOK_MS = 60_000;
const GIVEN = "session: ";
const OPENED = "opened";
const READY = "ready";
const TAKEN_IN = "taken in";
const WHY_NOT = "can't: ";

/** How far a session process is. */
export type Word = typeof READY | typeof TAKEN_IN;

export interface StartOptions {
  /** The process that saw that the session had crashed, if this was not asked for by a person. */
  readonly by?: string;
  /** The program that it calls when something lies in its outbox, or a place in the line is free. */
  readonly dispatcher: string;
  /** Its starter is about to open the session, and tells it when it has. */
  readonly isUnopened?: boolean;
}

/** The session that a process is for, and the options that it would have been started with. */
export interface Given {
  readonly session: string;
  readonly options: StartOptions;
  readonly env: Readonly<Record<string, string>>;
}

/** The starter's end. */
export class StartedProcess {
  readonly pid: number;
  readonly #connection: Connected["connection"];
  readonly #news = new News();
  #said = "";
  #isOver = false;

  constructor({ pid, connection, ended }: Connected) {
    this.pid = pid;
    this.#connection = connection;
    connection.on("error", () => {});
    connection.setEncoding("utf8").on("data", (text: string) => {
      this.#said += text;
      this.#news.tell();
    });
    // It is gone without a report: that is certain when no such process is found any more.
    connection.once("close", async () => {
      if (!this.#lines.includes(TAKEN_IN)) await ended;
      this.#isOver = true;
      this.#news.tell();
    });
  }

  /** Tells a process that was started without a session that it is for this one. */
  static given(connected: Connected, given: Given): StartedProcess {
    const started = new StartedProcess(connected);
    connected.connection.write(`${GIVEN}${JSON.stringify(given)}\n`);
    return started;
  }

  /** Why it can't have its session, if it reported that. */
  get whyNot(): string | undefined {
    return this.#lines.find((one) => one.startsWith(WHY_NOT))?.slice(WHY_NOT.length);
  }

  get #lines(): string[] {
    return this.#said.split("\n");
  }

  /** The session exists, and is free. */
  sayOpened(): void {
    this.#connection.write(`${OPENED}\n`);
  }

  /** Waits until it reports this or is gone, but not longer than given. */
  async hear(word: Word, patience: Deadline): Promise<void> {
    while (!this.#lines.includes(word) && !this.#isOver && !patience.isPast)
      await this.#news.next(patience.leftMs);
  }

  /** It goes on, and is not listened to. */
  close(): void {
    this.#connection.destroy();
  }
}

/** The session process's end. */
export class Starter {
  readonly #socket = new Socket({ fd: CONNECTION_FD, readable: true, writable: true });
  readonly #news = new News();
  #said = "";
  #isOver = false;

  constructor() {
    this.#socket.on("error", () => {});
    this.#socket.setEncoding("utf8").on("data", (text: string) => {
      this.#said += text;
      this.#news.tell();
    });
    this.#socket.once("close", () => {
      this.#isOver = true;
      this.#news.tell();
    });
  }

  /** Resolves when the starter has told the session; undefined when it never will. */
  async whenGiven(): Promise<Given | undefined> {
    const line = await this.#hear((one) => one.startsWith(GIVEN));
    return line === undefined ? undefined : JSON.parse(line.slice(GIVEN.length));
  }

  /**
   * Resolves when the starter has opened the session, or never will. The caller then looks whether it exists.
   */
  async whenOpened(): Promise<void> {
    await this.#hear((one) => one === OPENED);
  }

  async #hear(fits: (line: string) => boolean): Promise<string | undefined> {
    for (;;) {
      // The text after the last line break is not complete yet.
      const found = this.#said.split("\n").slice(0, -1).find(fits);
      if (found !== undefined || this.#isOver) return found;
      await this.#news.next(LOOK_MS);
    }
  }

  sayReady(): void {
    this.#socket.write(`${READY}\n`);
  }

  /** The last report. */
  sayTakenIn(): void {
    this.#socket.end(`${TAKEN_IN}\n`, () => this.#socket.destroy());
  }

  /** Only its first line: the log has all of it. */
  sayWhyNot(reason: string): void {
    this.#socket.write(`${WHY_NOT}${reason.split("\n", 1)[0]}\n`);
  }
}
