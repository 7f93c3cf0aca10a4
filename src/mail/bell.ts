/**
 * Owns the bell of a session process: a socket that sends one sign at a time. To connect is to ring, which
 * asks the process to look into its inbox; it answers when it has looked. A connection that stays open
 * listens: it hears when there is news in the journal or the output, and when the bell is taken down. The
 * connection ends when the process ends and not before, so its end is the end of the process. All content is
 * in the directories: a ring that gets lost costs time, and nothing else.
 */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { News } from "../util/index.ts";

/** A machine that is very busy needs time. */
const RING_MS = 3000;
/** More listeners than are ever needed; further ones look by themselves. */
const MAX_LISTENERS = 512;

/** A person sees no difference. */
const SPACING_MS = 60;

const LOOKED = ".";
const NEWS = "!";
const TAKEN_DOWN = "x";

/** `silent`: a process is there, and does not answer. */
export type RingAnswer = "looked" | "absent" | "silent";

export interface Bell {
  /** Whether a connection listens, or rings just now. */
  readonly hasListeners: boolean;
  /** Rings every listener, soon; at once if someone may wait for it. */
  news(isUrgent?: boolean): void;
  /** From now on, a ring finds no process. Connections stay open: their end tells of the process's end. */
  takeDown(): void;
}

/**
 * Takes the place of a socket that a dead process left. `look` resolves when the content of the inbox was
 * taken in, or was left there for a reason. It fails if the process is leaving; what lies there is then for
 * the next process.
 */
export async function hangBell(path: string, look: () => Promise<void>): Promise<Bell> {
  const listeners = new Set<Socket>();
  rmSync(path, { force: true });
  const server: Server = createServer((socket) => {
    listeners.add(socket);
    socket.resume();
    socket.on("error", () => {});
    socket.on("close", () => listeners.delete(socket));
    // Not by a message: if the other side is gone when we write, the message is never read.
    look().then(
      () => socket.write(LOOKED),
      () => socket.destroy(),
    );
  });
  server.maxConnections = MAX_LISTENERS;
  server.on("drop", () => look().catch(() => {}));
  server.listen(path);
  await once(server, "listening");
  const rung = spaced(() => {
    // A listener that has not heard the last ring yet needs no other.
    for (const socket of listeners) if (socket.writableLength === 0) socket.write(NEWS);
  });
  return {
    get hasListeners() {
      return listeners.size > 0;
    },
    news: rung,
    takeDown() {
      server.close();
      for (const socket of listeners) socket.unref().write(TAKEN_DOWN);
    },
  };
}

/**
 * Rings later, and not more often than this: waking the listeners takes a busy machine milliseconds, and the agent may
 * wait for what is done now. What is urgent does not wait for the others. The end of the connection tells of what was not
 * rung any more.
 */
function spaced(ring: () => void): (isUrgent?: boolean) => void {
  let isComing = false;
  let resting: NodeJS.Timeout | undefined;
  let isLeft = false;
  const begin = () => {
    isComing = false;
    isLeft = false;
    ring();
    clearTimeout(resting);
    resting = setTimeout(() => {
      resting = undefined;
      if (isLeft) begin();
    }, SPACING_MS).unref();
  };
  return (isUrgent = false) => {
    if (isComing) return;
    if (resting && !isUrgent) {
      isLeft = true;
      return;
    }
    isComing = true;
    setImmediate(begin);
  };
}

/** Resolves to the answer, or to `silent` if none comes for a while. */
export function ring(path: string, timeoutMs = RING_MS): Promise<RingAnswer> {
  return new Promise((resolve) => {
    const socket = connect(path);
    let isThere = false;
    const end = (answer: RingAnswer) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    // A process that hangs must not hold up the caller that rings.
    const timer = setTimeout(() => end(isThere ? "silent" : "absent"), timeoutMs);
    socket.once("connect", () => {
      isThere = true;
    });
    socket.on("data", (signs: Buffer) => {
      if (signs.includes(LOOKED)) end("looked");
      else if (signs.includes(TAKEN_DOWN)) end("absent");
    });
    socket.on("error", () => end("absent"));
    socket.once("close", () => end("absent"));
  });
}

/** Rings, and does not wait for the answer. Resolves to whether a process was there to hear it. */
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

/** Resolves when the process is gone, or when it has no bell: then nothing tells of its end. */
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
  /** There is no bell, or none any more: nothing can be heard. */
  readonly isOver: boolean;
  /**
   * Resolves at the next news, when the bell is gone, or after the time; at once if there was news meanwhile.
   */
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
  // The socket must not keep a process alive that has nothing else to do.
  socket.unref();
  return {
    get isOver() {
      return isOver;
    },
    next: (timeoutMs) => news.next(timeoutMs),
    close: () => socket.destroy(),
  };
}
