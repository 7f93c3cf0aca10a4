/**
 * Owns the session's proxy: one connection from the sandbox is one tunnel (CONNECT), or one plain request to
 * an `http://` address, to a host that the gate admits. The resources of a client are bounded (clients-1).
 */
import type { Socket } from "node:net";
import { errorCode } from "../util/index.ts";
import { RequestBody } from "./body.ts";
import { Clients } from "./clients.ts";
import type { Gate, Judgement } from "./gate.ts";
import { Incoming, type Take } from "./reading.ts";
import { carry, connectFor, tie } from "./relay.ts";
import { HEAD_END, headFor, type PlainRequest, type ProxyRequest, parseRequest } from "./request.ts";

export interface ProxyLimits {
  readonly connections: number;
  readonly headBytes: number;
  readonly headMs: number;
  readonly connectMs: number;
  /** How long the other side may be silent after one side has ended. */
  readonly halfOpenMs: number;
}

export const PROXY_LIMITS: ProxyLimits = {
  connections: 128,
  headBytes: 16 * 1024,
  headMs: 15_000,
  connectMs: 30_000,
  halfOpenMs: 120_000,
};

/** How long a client may take to close after an answer. */
const ANSWER_MS = 5000;

type Admitted = Extract<Judgement, { kind: "admitted" }>;
type Asked = Exclude<ProxyRequest, { kind: "bad" }>;
interface Head {
  readonly head: string;
  /** The bytes after it. */
  readonly rest: Buffer;
}

export class SessionProxy {
  readonly #gate: Gate;
  readonly #limits: ProxyLimits;
  readonly #clients: Clients;

  constructor(gate: Gate, limits: ProxyLimits = PROXY_LIMITS) {
    this.#gate = gate;
    this.#limits = limits;
    this.#clients = new Clients(limits.connections);
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#clients.size;
  }

  accept(accepted: Socket): void {
    const client = new Incoming(accepted);
    const { socket } = client;
    if (this.#clients.add(socket)) return void this.#serve(client).catch(() => socket.destroy());
    this.#answer(client, 503, "this task has too many connections open");
    // Without waiting until it has read that: otherwise it would stay one connection too many.
    socket.destroySoon();
  }

  close(): void {
    this.#clients.close();
  }

  async #serve(client: Incoming): Promise<void> {
    const read = await readHead(client, this.#limits);
    if (typeof read === "number") return this.#answer(client, read, "the head of the request did not arrive");
    const request = parseRequest(read.head);
    if (request.kind === "bad") return this.#answer(client, request.status, request.sentence);
    const judgement = await this.#gate.judge(request.host, request.port);
    if (judgement.kind === "refused") return this.#answer(client, 403, judgement.refusal.sentence);
    if (judgement.kind === "unresolved") return this.#answer(client, 502, judgement.sentence);
    if (!client.socket.destroyed) this.#connect(client, request, judgement, read.rest);
  }

  #connect(client: Incoming, request: Asked, admitted: Admitted, rest: Buffer): void {
    const { connectMs, halfOpenMs } = this.#limits;
    const at = `${admitted.name}:${admitted.port}`;
    const leave = () => there.destroy();
    const there = connectFor(client.socket, admitted, () => {
      clearTimeout(timer);
      there.off("error", failed);
      client.socket.off("close", leave);
      tie(client.socket, there, halfOpenMs);
      if (request.kind === "tunnel") carryTunnel(client, there, rest);
      else carryRequest(client, there, request, { rest, authority: authorityOf(admitted) });
    });
    const failed = (error: Error) => {
      clearTimeout(timer);
      this.#answer(client, 502, `${at} could not be reached (${errorCode(error) ?? error.message})`);
    };
    // A host that drops packets does not answer, and the kernel would wait for two minutes.
    const timer = setTimeout(() => there.destroy(new Error("it does not answer")), connectMs);
    there.once("error", failed);
    client.socket.once("close", leave);
  }

  /** In the status line too, because many programs show nothing else. */
  #answer(client: Incoming, status: number, sentence: string): void {
    const { socket } = client;
    if (socket.destroyed) return;
    const body = `holdfast: ${sentence}\n`;
    const fields = `Content-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close`;
    socket.end(`HTTP/1.1 ${status} holdfast: ${sentence}\r\n${fields}${HEAD_END}${body}`);
    // What the client still sends is read and dropped: unread bytes would cut the answer off.
    client.readBy((_, done) => done());
    socket.setTimeout(ANSWER_MS, () => socket.destroy());
  }
}

/** The head of the first request, or the status that tells why there is none. */
function readHead(client: Incoming, { headBytes, headMs }: ProxyLimits): Promise<Head | number> {
  const { socket } = client;
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    const over = (result: Head | number) => {
      clearTimeout(timer);
      socket.off("end", onEnd).off("close", onEnd);
      client.hold();
      resolve(result);
    };
    const onEnd = () => over(400);
    // A client that sends nothing would keep one of few places.
    const timer = setTimeout(() => over(408), headMs);
    socket.once("end", onEnd).once("close", onEnd);
    client.readBy((chunk, done) => {
      const from = Math.max(0, bytes.length - HEAD_END.length);
      bytes = Buffer.concat([bytes, chunk]);
      done();
      const end = bytes.indexOf(HEAD_END, from, "latin1");
      if (end > headBytes || (end === -1 && bytes.length > headBytes)) over(431);
      else if (end !== -1)
        over({ head: bytes.toString("latin1", 0, end), rest: bytes.subarray(end + HEAD_END.length) });
    });
  });
}

function carryTunnel(client: Incoming, there: Socket, rest: Buffer): void {
  client.socket.write(`HTTP/1.1 200 Connection established${HEAD_END}`);
  if (rest.length > 0) there.write(rest);
  carry(client, there);
}

/**
 * http-1 One request and its body. What a client sends after it is dropped.
 */
function carryRequest(
  client: Incoming,
  there: Socket,
  request: PlainRequest,
  { rest, authority }: { readonly rest: Buffer; readonly authority: string },
): void {
  const body = new RequestBody(request.body);
  there.write(headFor(request, authority), "latin1");
  const pass: Take = (chunk, done) => {
    const length = body.take(chunk);
    if (length === undefined) there.destroy();
    if (length) there.write(chunk.subarray(0, length), done);
    else done();
  };
  if (rest.length > 0) pass(rest, () => {});
  client.readBy(pass);
}

function authorityOf({ name, port }: Admitted): string {
  return port === 80 ? name : `${name}:${port}`;
}
