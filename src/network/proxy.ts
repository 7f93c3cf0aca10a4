/**
 * Owns the session's proxy: one connection from the sandbox is one tunnel (CONNECT), or one plain request to an
 * `http://` address, to a host that the gate admits.
 * What a client can hold is bounded (V12).
 */
import type { Socket } from "node:net";
import { errorCode } from "../util/index.ts";
import { RequestBody } from "./body.ts";
import { Clients } from "./clients.ts";
import type { Gate, Judgement } from "./gate.ts";
import { carry, connectFor, sendOn, tie } from "./relay.ts";
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

/** How long a client may take to go after an answer of ours. */
const ANSWER_MS = 5000;

type Admitted = Extract<Judgement, { kind: "admitted" }>;
type Asked = Exclude<ProxyRequest, { kind: "bad" }>;
interface Head {
  readonly head: string;
  /** What came behind it. */
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

  accept(client: Socket): void {
    if (this.#clients.add(client)) return void this.#serve(client).catch(() => client.destroy());
    this.#answer(client, 503, "this task has too many connections open");
    // Without waiting for it to read that: it would go on to be one too many.
    client.destroySoon();
  }

  close(): void {
    this.#clients.close();
  }

  async #serve(client: Socket): Promise<void> {
    const read = await readHead(client, this.#limits);
    if (typeof read === "number") return this.#answer(client, read, "the head of the request did not arrive");
    const request = parseRequest(read.head);
    if (request.kind === "bad") return this.#answer(client, request.status, request.sentence);
    const judgement = await this.#gate.judge(request.host, request.port);
    if (judgement.kind === "refused") return this.#answer(client, 403, judgement.refusal.sentence);
    if (judgement.kind === "unresolved") return this.#answer(client, 502, judgement.sentence);
    if (!client.destroyed) this.#connect(client, request, judgement, read.rest);
  }

  #connect(client: Socket, request: Asked, admitted: Admitted, rest: Buffer): void {
    const { connectMs, halfOpenMs } = this.#limits;
    const at = `${admitted.name}:${admitted.port}`;
    const leave = () => there.destroy();
    const there = connectFor(client, admitted, () => {
      clearTimeout(timer);
      there.off("error", failed);
      client.off("close", leave);
      tie(client, there, halfOpenMs);
      if (request.kind === "tunnel") carryTunnel(client, there, rest);
      else carryRequest(client, there, request, { rest, authority: authorityOf(admitted) });
    });
    const failed = (error: Error) => {
      clearTimeout(timer);
      this.#answer(client, 502, `${at} could not be reached (${errorCode(error) ?? error.message})`);
    };
    // A host that drops what it is sent says nothing, and the kernel would wait for two minutes.
    const timer = setTimeout(() => there.destroy(new Error("it does not answer")), connectMs);
    there.once("error", failed);
    client.once("close", leave);
  }

  /** In the status line too, because many programs show no more of it. */
  #answer(client: Socket, status: number, sentence: string): void {
    if (client.destroyed) return;
    const body = `holdfast: ${sentence}\n`;
    const fields = `Content-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close`;
    client.end(`HTTP/1.1 ${status} holdfast: ${sentence}\r\n${fields}${HEAD_END}${body}`);
    // What it still sends is read and dropped: to leave it unread would cut the answer off.
    client.resume();
    client.setTimeout(ANSWER_MS, () => client.destroy());
  }
}

/** The head of the first request, or the status that says why there is none. */
function readHead(client: Socket, { headBytes, headMs }: ProxyLimits): Promise<Head | number> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    const over = (result: Head | number) => {
      clearTimeout(timer);
      client.off("data", onData).off("end", onEnd).off("close", onEnd);
      client.pause();
      resolve(result);
    };
    const onData = (chunk: Buffer) => {
      const from = Math.max(0, bytes.length - HEAD_END.length);
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf(HEAD_END, from, "latin1");
      if (end > headBytes || (end === -1 && bytes.length > headBytes)) over(431);
      else if (end !== -1)
        over({ head: bytes.toString("latin1", 0, end), rest: bytes.subarray(end + HEAD_END.length) });
    };
    const onEnd = () => over(400);
    // A client that says nothing would keep one of few places.
    const timer = setTimeout(() => over(408), headMs);
    client.on("data", onData).once("end", onEnd).once("close", onEnd);
  });
}

function carryTunnel(client: Socket, there: Socket, rest: Buffer): void {
  client.write(`HTTP/1.1 200 Connection established${HEAD_END}`);
  if (rest.length > 0) there.write(rest);
  carry(client, there);
}

/** V9 One request and its body. What a client sends behind it is dropped. */
function carryRequest(
  client: Socket,
  there: Socket,
  request: PlainRequest,
  { rest, authority }: { readonly rest: Buffer; readonly authority: string },
): void {
  const body = new RequestBody(request.body);
  there.write(headFor(request, authority), "latin1");
  const pass = (chunk: Buffer) => {
    const length = body.take(chunk);
    if (length === undefined) return void there.destroy();
    if (length > 0) sendOn(chunk.subarray(0, length), client, there);
  };
  if (rest.length > 0) pass(rest);
  client.on("data", pass);
  client.resume();
}

function authorityOf({ name, port }: Admitted): string {
  return port === 80 ? name : `${name}:${port}`;
}
