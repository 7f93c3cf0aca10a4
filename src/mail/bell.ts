/**
 * Owns the bell of a session process: a socket that says one sign at a time. To connect is to ring, which asks the
 * process to look into its inbox; it answers when it has looked. A connection that stays listens: it hears when there
 * is news in the journal or the output, and when the bell is taken down. It ends with the process and not before, so
 * its end is the end of the process.
 *
 * What there is to see is in the directories: a ring that gets lost costs time, nothing else.
 */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { News } from "../util/index.ts";

/** A machine that is very busy takes its time. */
const RING_MS = 3000;
/** More listeners than anybody needs; the rest look by themselves. */
const MAX_LISTENERS = 512;

const LOOKED = ".";
const NEWS = "!";
const TAKEN_DOWN = "x";

/** `silent`: a process is there, and does not answer. */
export type RingAnswer = "looked" | "nobody" | "silent";

export interface Bell {
  /** Rings everybody who listens. */
  news(): void;
  /** A ring finds no process from now on. Connections stay: they tell of the process's end. */
  takeDown(): void;
}

/**
 * Takes the place of a socket that a dead process left. `look` resolves when what lay in the inbox was taken in, or
 * left there for a reason; it fails where the process leaves, and what lies there is for the next one.
 */
export async function hangBell(path: string, look: () => Promise<void>): Promise<Bell> {
  const listeners = new Set<Socket>();
  rmSync(path, { force: true });
  const server: Server = createServer((socket) => {
    listeners.add(socket);
    socket.resume();
    socket.on("error", () => {});
    socket.on("close", () => listeners.delete(socket));
    // Not by something that it says: who is gone when we write to it is never read.
    look().then(
      () => socket.write(LOOKED),
      () => socket.destroy(),
    );
  });
  server.maxConnections = MAX_LISTENERS;
  server.on("drop", () => look().catch(() => {}));
  server.listen(path);
  await once(server, "listening");
  return {
    news() {
      // One who has not heard the last ring yet needs no other.
      for (const socket of listeners) if (socket.writableLength === 0) socket.write(NEWS);
    },
    takeDown() {
      server.close();
      for (const socket of listeners) socket.unref().write(TAKEN_DOWN);
    },
  };
}

/** Resolves with the answer; with `silent` when none comes for a while. */
export function ring(path: string, timeoutMs = RING_MS): Promise<RingAnswer> {
  return new Promise((resolve) => {
    const socket = connect(path);
    let isThere = false;
    const end = (answer: RingAnswer) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    // A process that hangs must not hold up the one that rings.
    const timer = setTimeout(() => end(isThere ? "silent" : "nobody"), timeoutMs);
    socket.once("connect", () => {
      isThere = true;
    });
    socket.on("data", (signs: Buffer) => {
      if (signs.includes(LOOKED)) end("looked");
      else if (signs.includes(TAKEN_DOWN)) end("nobody");
    });
    socket.on("error", () => end("nobody"));
    socket.once("close", () => end("nobody"));
  });
}

/** Rings, and goes before the answer. Whether a process was there to hear it. */
export function knock(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once("error", () => end(false));
    socket.once("connect", () => end(true));
  });
}

/** Resolves when the process is gone, or when no bell hangs there: then nothing tells of its end. */
export function whenBellGone(path: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const leave = () => socket.destroy();
    signal.addEventListener("abort", leave, { once: true });
    socket.resume();
    socket.on("error", () => {});
    socket.once("close", () => {
      signal.removeEventListener("abort", leave);
      resolve();
    });
  });
}

export interface Listening {
  /** No bell hangs there, or none any more: nothing is to be heard. */
  readonly isOver: boolean;
  /** Resolves at the next news, when the bell is gone, or after the time; at once if there was some meanwhile. */
  next(timeoutMs: number): Promise<void>;
  close(): void;
}

/** Listens for news. */
export function listen(path: string): Listening {
  const socket = connect(path);
  const news = new News();
  let isOver = false;
  const over = () => {
    isOver = true;
    news.tell();
  };
  socket.on("data", (signs: Buffer) => {
    if (signs.includes(TAKEN_DOWN)) over();
    else if (signs.includes(NEWS)) news.tell();
  });
  socket.on("error", () => {});
  socket.on("close", over);
  // It must not keep a process alive that has nothing else to do.
  socket.unref();
  return {
    get isOver() {
      return isOver;
    },
    next: (timeoutMs) => news.next(timeoutMs),
    close: () => socket.destroy(),
  };
}
