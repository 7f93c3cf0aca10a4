/**
 * The opener: a program that runs in the network namespace of a sandbox and opens sockets there for the
 * process that started it. `main listen PORT…` listens on loopback, passes the listening sockets on, and ends
 * when its starter says so. `main connect` connects to a port of loopback whenever it is asked to, and passes
 * the connection on.
 *
 * It reads nothing from a socket that it opened, and ends when its starter has ended. It imports no other
 * module of ours, because it is started for every task.
 */
import { connect, createServer, type Server, type Socket } from "node:net";

/** The answer to the starter, with the socket beside it. */
export type OpenerAnswer =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "all_listening" }
  | { readonly kind: "connected"; readonly request: number }
  | { readonly kind: "failed"; readonly request?: number; readonly reason: string };

/** A request of the starter. */
export interface ConnectRequest {
  readonly request: number;
  readonly port: number;
}

const LOOPBACK = ["127.0.0.1", "::1"] as const;
/** If IPv6 is switched off, no program inside will ask for it. */
const NO_IPV6 = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);
/** A program inside may listen and never accept a connection. */
const CONNECT_MS = 5000;

/** How soon it ends after its starter: Node does not report that while a socket is being passed. */
const GONE_MS = 100;

const [task, ...ports] = process.argv.slice(2);
process.once("disconnect", () => process.exit());
setInterval(() => {
  if (!process.connected) process.exit();
}, GONE_MS);
if (task === "listen") await listenOn(ports.map(Number));
else process.on("message", (asked: ConnectRequest) => void connectTo(asked));

async function listenOn(all: readonly number[]): Promise<void> {
  try {
    for (const port of all)
      for (const address of LOOPBACK) {
        const server = await listening(port, address);
        if (server) await answer({ kind: "listening", port }, server);
      }
    await answer({ kind: "all_listening" });
  } catch (error) {
    await answer({ kind: "failed", reason: reasonOf(error) });
  }
}

function listening(port: number, host: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error) =>
      host === "::1" && NO_IPV6.has(reasonOf(error)) ? resolve(undefined) : reject(error),
    );
    server.listen({ port, host, exclusive: true }, () => resolve(server));
  });
}

async function connectTo({ request, port }: ConnectRequest): Promise<void> {
  let reason = "";
  for (const host of LOOPBACK) {
    try {
      const socket = await connected(port, host);
      return await answer({ kind: "connected", request }, socket);
    } catch (error) {
      reason ||= reasonOf(error);
    }
  }
  await answer({ kind: "failed", request, reason });
}

function connected(port: number, host: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host });
    // The first bytes of the other side are for the starter to read.
    socket.pause();
    const timer = setTimeout(() => socket.destroy(new Error("it does not answer")), CONNECT_MS);
    socket.once("close", () => clearTimeout(timer));
    socket.once("error", reject);
    socket.once("connect", () => {
      clearTimeout(timer);
      resolve(socket);
    });
  });
}

/** Resolves when the answer was sent. If the starter has ended, so do we. */
function answer(what: OpenerAnswer, socket?: Server | Socket): Promise<void> {
  return new Promise((resolve) => void process.send?.(what, socket, {}, () => resolve()));
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
