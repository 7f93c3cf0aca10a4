/**
 * Hosts for tests of the network: servers on this machine's loopback under public names. The resolver and the
 * judgement of addresses are the test's own, so the product has no way to call a loopback address public.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { Contacts } from "../../src/network/contacts.ts";
import { Gate, type GateOptions, type RefusedHost } from "../../src/network/gate.ts";
import { parseHost } from "../../src/network/hosts.ts";
import { PROXY_LIMITS, type ProxyLimits, SessionProxy } from "../../src/network/proxy.ts";

/** Keeps what it hears; answers only if `onConnection` does. */
export class TestHost implements AsyncDisposable {
  readonly sockets = new Set<Socket>();
  heard = "";
  connections = 0;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(
    onConnection: (socket: Socket, host: TestHost) => void = () => {},
    allowHalfOpen = false,
  ): Promise<TestHost> {
    const server = createServer({ allowHalfOpen });
    const host = new TestHost(server);
    server.on("connection", (socket) => {
      host.connections += 1;
      host.sockets.add(socket);
      socket.on("close", () => host.sockets.delete(socket)).on("error", () => {});
      socket.on("data", (data) => {
        host.heard += data.toString("latin1");
      });
      onConnection(socket, host);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return host;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

/** Listens, accepts no connection, and has no room for another one: a client that connects gets no answer. */
export class DeafHost implements Disposable {
  readonly port: number;
  readonly #process: ChildProcess;
  readonly #waiting: readonly Socket[];

  private constructor(process: ChildProcess, port: number) {
    this.#process = process;
    this.port = port;
    this.#waiting = [1, 2].map(() => connect({ port, host: "127.0.0.1" }).on("error", () => {}));
  }

  static async start(): Promise<DeafHost> {
    const child = spawn(process.execPath, ["-e", DEAF], { stdio: ["ignore", "pipe", "inherit"] });
    const host = new DeafHost(child, Number((await once(child.stdout, "data"))[0]));
    await Promise.all(host.#waiting.map((socket) => once(socket, "connect")));
    return host;
  }

  /** How many connections to it were requested and not answered: state 02 of proc_net_tcp(5). */
  knocks(): number {
    const port = this.port.toString(16).toUpperCase().padStart(4, "0");
    const lines = readFileSync("/proc/net/tcp", "utf8").split("\n");
    return lines.filter((line) => line.includes(`0100007F:${port} 02`)).length;
  }

  [Symbol.dispose](): void {
    for (const socket of this.#waiting) socket.destroy();
    this.#process.kill("SIGKILL");
  }
}

const DEAF = `const server = require("net").createServer();
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    require("fs").writeSync(1, String(server.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

export const tunnel = (at: string) => `CONNECT ${at} HTTP/1.1\r\nHost: ${at}\r\n\r\n`;
export const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+) /.exec(answer)?.[1]);

/** A tunnel through the proxy, once it is open. */
export async function tunnelThrough(proxy: TestProxy, at: string): Promise<Socket> {
  const socket = proxy.open();
  socket.write(tunnel(at));
  const answer = String((await once(socket, "data"))[0]);
  if (statusOf(answer) !== 200) throw new Error(answer);
  return socket;
}

/** Resolves when a socket has closed, however it ended. */
export const closed = (socket: Socket) =>
  new Promise<void>((resolve) => socket.once("close", () => resolve()));

/** Answers a request at once. */
export const answering = (socket: Socket) =>
  void socket.once("data", () =>
    socket.end("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"),
  );

export const LOOPBACK_IS_PUBLIC: Pick<GateOptions, "resolve" | "kindOf"> = {
  resolve: async () => ["127.0.0.1"],
  kindOf: () => "public",
};

/** A proxy on a port of this machine, which allows the given hosts. */
export class TestProxy implements AsyncDisposable {
  readonly refused: RefusedHost[] = [];
  readonly contacts = new Contacts();
  readonly gate: Gate;
  readonly proxy: SessionProxy;
  readonly #server: Server;

  private constructor(hosts: readonly string[], options: Partial<GateOptions>, limits: Partial<ProxyLimits>) {
    const onRefused = (refusal: RefusedHost) => void this.refused.push(refusal);
    const own = { contacts: this.contacts, onRefused, hosts: hosts.map(parseHost) };
    this.gate = new Gate({ ...LOOPBACK_IS_PUBLIC, ...own, ...options });
    this.proxy = new SessionProxy(this.gate, { ...PROXY_LIMITS, ...limits });
    this.#server = createServer((socket) => this.proxy.accept(socket));
  }

  static async start(
    hosts: readonly string[],
    options: Partial<GateOptions> = {},
    limits: Partial<ProxyLimits> = {},
  ): Promise<TestProxy> {
    const one = new TestProxy(hosts, options, limits);
    one.#server.listen(0, "127.0.0.1");
    await once(one.#server, "listening");
    return one;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  open(): Socket {
    return connect({ port: this.port, host: "127.0.0.1" }).on("error", () => {});
  }

  /** Sends a text, and resolves with the whole answer when the proxy has closed the connection. */
  async ask(text: string): Promise<string> {
    const socket = this.open();
    socket.write(text, "latin1");
    let heard = "";
    socket.on("data", (data) => {
      heard += data.toString("latin1");
    });
    await closed(socket);
    return heard;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.proxy.close();
  }
}
