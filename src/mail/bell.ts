/**
 * Owns the bell of a session process: a socket that says nothing but "look". To connect is to ring: the process looks
 * into its inbox. Whoever stays connected listens, and is rung when there is news in its journal or its output. What
 * there is to see is in the directories: a ring that gets lost costs time, nothing else.
 */

import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";

/** A machine that is very busy takes its time. */
const RING_MS = 3000;
/** More listeners than anybody needs; the rest look by themselves. */
const MAX_LISTENERS = 512;

export interface Bell {
  /** Rings everybody who listens. */
  news(): void;
  close(): Promise<void>;
}

/** Takes the place of a socket that a dead process left. */
export async function hangBell(path: string, onRing: () => void): Promise<Bell> {
  const listeners = new Set<Socket>();
  rmSync(path, { force: true });
  const server: Server = createServer((socket) => {
    // Not by something that it says: who is gone when we write to it is never read.
    onRing();
    listeners.add(socket);
    socket.resume();
    socket.on("error", () => {});
    socket.on("close", () => listeners.delete(socket));
  });
  server.maxConnections = MAX_LISTENERS;
  server.on("drop", () => onRing());
  server.listen(path);
  await once(server, "listening");
  return {
    news() {
      // One who has not heard the last ring yet needs no other.
      for (const socket of listeners) if (socket.writableLength === 0) socket.write("!");
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of listeners) socket.destroy();
      await closed;
    },
  };
}

/** Whether somebody was there to hear it. */
export function ring(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (heard: boolean) => {
      socket.destroy();
      resolve(heard);
    };
    socket.setTimeout(RING_MS, () => end(false));
    socket.once("error", () => end(false));
    socket.once("connect", () => end(true));
  });
}

export interface Listening {
  /** Resolves at the next ring, when the process is gone, or after the time; at once if one came meanwhile. */
  next(timeoutMs: number): Promise<void>;
  close(): void;
}

/** Listens for news. Where no bell hangs, `next` takes its whole time: the caller looks by itself then. */
export function listen(path: string | null): Listening {
  const socket = path === null ? undefined : connect(path);
  let hasNews = true;
  let wake = () => {};
  const news = () => {
    hasNews = true;
    wake();
  };
  socket?.on("data", news);
  socket?.on("error", () => {});
  socket?.on("close", news);
  // It must not keep a process alive that has nothing else to do.
  socket?.unref();
  return {
    next(timeoutMs) {
      if (hasNews) {
        hasNews = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const timer = setTimeout(() => wake(), timeoutMs);
        wake = () => {
          clearTimeout(timer);
          hasNews = false;
          wake = () => {};
          resolve();
        };
      });
    },
    close: () => socket?.destroy(),
  };
}
