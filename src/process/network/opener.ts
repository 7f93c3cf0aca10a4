/**
 * Owns how a socket of ours comes to be in another network namespace. A socket belongs to the namespace in
 * which it was made, whichever process holds it. So a program of ours enters the namespace, opens the socket
 * there, and passes it to us. No process of ours stays inside for it, and a command in the sandbox costs
 * nothing more.
 *
 * opener-1 It opens only the loopback of that namespace: the machine's own network can't reach it, and it
 *    does not reach the machine's network.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Server, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { deadline, systemClock } from "../../util/index.ts";
import { onlyStdio } from "../descriptors.ts";
import { ownProgram } from "../own-program.ts";
import type { ConnectRequest, OpenerAnswer } from "./main.ts";

/** The words that start a program in the namespace: `nsenter -t PID -n --`. */
export type EnterWords = readonly string[];

export interface InsideListener {
  close(): void;
}

const START_MS = 20_000;
/** How long an opener that connects is kept after its last use: a web page asks for many files. */
const IDLE_MS = 5000;
const STDERR_KEPT = 2000;
/** How long an opener may take to end when it is no longer needed. */
const TAKEN_MS = 5000;
/** It is not our child, so its end is not reported to us. */
const AGAIN_MS = 50;

/**
 * Listens on these ports of loopback inside. `onConnection` gets every connection, from the first one on. An
 * earlier session process may have been killed while its opener was at work: that opener soon releases the
 * ports.
 */
export async function listenInside(
  enter: EnterWords,
  ports: readonly number[],
  onConnection: (socket: Socket, port: number) => void,
): Promise<InsideListener> {
  for (const patience = deadline(systemClock, TAKEN_MS); ; ) {
    try {
      return await listenOnce(enter, ports, onConnection);
    } catch (error) {
      if (!isTaken(error) || patience.isPast) throw error;
      await sleep(AGAIN_MS);
    }
  }
}

const isTaken = (error: unknown) =>
  isHoldfastError(error, "network_failed") && error.facts["reason"] === "EADDRINUSE";

async function listenOnce(
  enter: EnterWords,
  ports: readonly number[],
  onConnection: (socket: Socket, port: number) => void,
): Promise<InsideListener> {
  const servers: Server[] = [];
  const close = () => {
    for (const server of servers) server.close();
  };
  try {
    await new Promise<void>((resolve, reject) => {
      const opener = startOpener(enter, ["listen", ...ports.map(String)], {
        onAnswer: (answer, socket) => {
          if (answer.kind === "listening" && socket instanceof Server) {
            socket.on("connection", (one) => {
              // A server that Node makes does this by itself. Otherwise a small piece of an answer waits until the
              // client has acknowledged the one before it, which takes 40 ms.
              one.setNoDelay(true);
              onConnection(one, answer.port);
            });
            // A program of the user's own ends when its work is done, whether it closed this or not.
            socket.unref();
            servers.push(socket);
          } else if (answer.kind === "all_listening") resolve();
          else
            reject(
              notOpened(answer.kind === "failed" ? answer.reason : "a socket was lost while it was passed"),
            );
          if (answer.kind !== "listening") end(opener);
        },
        onEnd: (said) => reject(notOpened(said)),
      });
    });
    return { close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Connects to ports of loopback inside, with an opener that is started when it is needed. */
export class InsideConnector {
  readonly #enter: EnterWords;
  readonly #waiting = new Map<number, { resolve(socket: Socket): void; reject(error: Error): void }>();
  #opener: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #requests = 0;

  constructor(enter: EnterWords) {
    this.#enter = enter;
  }

  /** Fails with `network_failed` if nothing listens there. */
  connect(port: number): Promise<Socket> {
    clearTimeout(this.#idle);
    const opener = this.#opener?.connected ? this.#opener : this.#start();
    this.#opener = opener;
    const asked: ConnectRequest = { request: ++this.#requests, port };
    const answered = new Promise<Socket>((resolve, reject) =>
      this.#waiting.set(asked.request, { resolve, reject }),
    );
    // If it has ended, its end shows that.
    opener.send(asked, () => {});
    return answered;
  }

  close(): void {
    clearTimeout(this.#idle);
    if (this.#opener) end(this.#opener);
    this.#opener = undefined;
    this.#fail("it was closed");
  }

  #start(): ChildProcess {
    const opener = startOpener(this.#enter, ["connect"], {
      onAnswer: (answer, socket) => this.#answered(answer, socket),
      onEnd: (said) => {
        if (this.#opener !== opener) return;
        this.#opener = undefined;
        this.#fail(said);
      },
    });
    return opener;
  }

  #answered(answer: OpenerAnswer, socket: unknown): void {
    if (!("request" in answer) || answer.request === undefined) return;
    const waiting = this.#waiting.get(answer.request);
    this.#waiting.delete(answer.request);
    if (socket instanceof Socket) waiting ? waiting.resolve(socket) : socket.destroy();
    else
      waiting?.reject(
        notOpened(answer.kind === "failed" ? answer.reason : "it was lost while it was passed"),
      );
    if (this.#waiting.size > 0) return;
    this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
  }

  #fail(reason: string): void {
    for (const { reject } of this.#waiting.values()) reject(notOpened(reason));
    this.#waiting.clear();
  }
}

interface OpenerCallbacks {
  onAnswer(answer: OpenerAnswer, socket: unknown): void;
  /** With the last text that it printed. */
  onEnd(said: string): void;
}

function startOpener(
  enter: EnterWords,
  args: readonly string[],
  { onAnswer, onEnd }: OpenerCallbacks,
): ChildProcess {
  const words = [...enter, process.execPath, ownProgram("process/network"), ...args];
  const [program = "", ...rest] = words;
  const opener: ChildProcess = spawn(program, rest, {
    cwd: "/",
    env: { PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin" },
    stdio: onlyStdio(["ignore", "ignore", "pipe", "ipc"]),
  });
  let said = "";
  opener.stderr?.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString("utf8")).slice(-STDERR_KEPT);
  });
  // It may hang in the kernel, or another program may have been put in its place.
  const timer = setTimeout(() => opener.kill("SIGKILL"), START_MS).unref();
  opener.on("message", (message, socket: unknown) => {
    clearTimeout(timer);
    onAnswer(message as OpenerAnswer, socket);
  });
  void once(opener, "close").then(
    ([status, signal]) => onEnd(said.trim() || `the opener ended with ${status ?? signal}`),
    (error: Error) => onEnd(error.message),
  );
  return opener;
}

/** It ends when our end of the channel closes. We do not wait for that. */
function end(opener: ChildProcess): void {
  if (opener.connected) opener.disconnect();
  opener.unref();
}

function notOpened(reason: string): HoldfastError {
  return new HoldfastError("network_failed", `a port in the sandbox could not be opened: ${reason}`, {
    reason,
  });
}
