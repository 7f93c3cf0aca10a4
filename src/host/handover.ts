/**
 * Owns the words between a session process and its starter, a line each, over a connection that the starter hands
 * down. To a process that was started before its session was known, the starter says which one it is. The starter may be
 * about to open the session: it says `opened` when the session is there and free. The process
 * says `ready` when it has the session, `taken in` when it has looked into its inbox, or why it can't.
 *
 * Either may be killed at any moment, and the other one hears the end of the connection. To the process it means that
 * its starter opens nothing any more; to the starter, that the process is gone, or has no more to say.
 */
import { Socket } from "node:net";
import { CONNECTION_FD, type Connected } from "../process/index.ts";
import { type Deadline, News } from "../util/index.ts";

/** How long it goes by its ears alone. */
const LOOK_MS = 60_000;
const GIVEN = "session: ";
const OPENED = "opened";
const READY = "ready";
const TAKEN_IN = "taken in";
const WHY_NOT = "can't: ";

/** How far a session process is. */
export type Word = typeof READY | typeof TAKEN_IN;

export interface StartOptions {
  /** Who saw that it had crashed, if that was no person. */
  readonly by?: string;
  /** The program that it calls when something lies in its outbox, or a place in the line is free. */
  readonly dispatcher: string;
  /** Its starter is about to open the session, and says when it has. */
  readonly isUnopened?: boolean;
}

/** Which session a process is for, and what it would have been started with. */
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
    // Without its last word it is gone: that is told when no such process is found any more.
    connection.once("close", async () => {
      if (!this.#lines.includes(TAKEN_IN)) await ended;
      this.#isOver = true;
      this.#news.tell();
    });
  }

  /** One that was started for no session yet is for this one. */
  static given(connected: Connected, given: Given): StartedProcess {
    const started = new StartedProcess(connected);
    connected.connection.write(`${GIVEN}${JSON.stringify(given)}\n`);
    return started;
  }

  /** Why it can't have its session, if it came to say so. */
  get whyNot(): string | undefined {
    return this.#lines.find((one) => one.startsWith(WHY_NOT))?.slice(WHY_NOT.length);
  }

  get #lines(): string[] {
    return this.#said.split("\n");
  }

  /** The session is there, and free. */
  sayOpened(): void {
    this.#connection.write(`${OPENED}\n`);
  }

  /** Until it says this or is gone, and until then at most. */
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

  /** Resolves when the starter says which session it is; undefined when it never will. */
  async whenGiven(): Promise<Given | undefined> {
    const line = await this.#hear((one) => one.startsWith(GIVEN));
    return line === undefined ? undefined : JSON.parse(line.slice(GIVEN.length));
  }

  /** Resolves when the starter has opened the session, or never will: then it is looked whether it is there. */
  async whenOpened(): Promise<void> {
    await this.#hear((one) => one === OPENED);
  }

  async #hear(fits: (line: string) => boolean): Promise<string | undefined> {
    for (;;) {
      // What stands behind the last line break is not whole yet.
      const found = this.#said.split("\n").slice(0, -1).find(fits);
      if (found !== undefined || this.#isOver) return found;
      await this.#news.next(LOOK_MS);
    }
  }

  sayReady(): void {
    this.#socket.write(`${READY}\n`);
  }

  /** The last word. */
  sayTakenIn(): void {
    this.#socket.end(`${TAKEN_IN}\n`, () => this.#socket.destroy());
  }

  /** Its first line: all of it is in the log. */
  sayWhyNot(reason: string): void {
    this.#socket.write(`${WHY_NOT}${reason.split("\n", 1)[0]}\n`);
  }
}
