/**
 * Owns one MCP client of the earlier protocol over HTTP: which answer belongs to which of its requests. An answer that
 * comes soon is one JSON document. A slow answer, or one with progress, is a stream of events that sends something
 * every 15 seconds, so that no proxy closes the connection.
 *
 * mcp-http-1 A call whose client hangs up is taken back, and one that its client takes back keeps no connection.
 */
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import { Refusal } from "../http/index.ts";

/** An answer that takes longer is a stream. */
const SOON_MS = 1000;
/** The door closes what is silent for longer than 90 s. */
const ALIVE_MS = 15_000;

export class HttpClient implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  readonly sessionId = randomUUID();
  readonly #open = new Map<RequestId, Answer>();

  async start(): Promise<void> {}

  take(message: JSONRPCMessage, response: ServerResponse): void {
    if (!isJSONRPCRequest(message)) {
      this.onmessage?.(message);
      this.#endCancelled(message);
      response.writeHead(202).end();
      return;
    }
    const { id } = message;
    if (this.#open.has(id))
      throw new Refusal(400, "invalid_data", "a request with this id has no answer yet");
    const answer = new Answer(response, this.sessionId);
    this.#open.set(id, answer);
    response.once("close", () => {
      answer.stop();
      if (this.#open.get(id) !== answer) return;
      this.#open.delete(id);
      const params = { requestId: id, reason: "the client hung up" };
      this.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    });
    this.onmessage?.(message);
  }

  async send(message: JSONRPCMessage, { relatedRequestId }: TransportSendOptions = {}): Promise<void> {
    const isLast = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
    const id = isLast ? message.id : relatedRequestId;
    // What belongs to no request has no way to the client: it is told nothing that it did not ask for.
    const answer = id === undefined ? undefined : this.#open.get(id);
    if (!answer || id === undefined) return;
    if (!isLast) return answer.say(message);
    this.#open.delete(id);
    answer.end(message);
  }

  async close(): Promise<void> {
    for (const answer of this.#open.values()) answer.end();
    this.#open.clear();
    this.onclose?.();
  }

  /** mcp-http-1: no answer follows it. */
  #endCancelled(message: JSONRPCMessage): void {
    if (!("method" in message) || message.method !== "notifications/cancelled") return;
    const id = message.params?.["requestId"] as RequestId;
    const answer = this.#open.get(id);
    this.#open.delete(id);
    answer?.end();
  }
}

class Answer {
  readonly #response: ServerResponse;
  readonly #session: string;
  #timer: NodeJS.Timeout;
  #isStream = false;

  constructor(response: ServerResponse, session: string) {
    this.#response = response;
    this.#session = session;
    this.#timer = setTimeout(() => this.#stream(), SOON_MS);
  }

  say(message: JSONRPCMessage): void {
    this.#stream();
    this.#response.write(eventOf(message));
  }

  /** Without a message: there will be none. */
  end(message?: JSONRPCMessage): void {
    if (!message) this.#stream();
    this.stop();
    if (this.#isStream) return void this.#response.end(message ? eventOf(message) : undefined);
    this.#response.writeHead(200, this.#headers("application/json")).end(JSON.stringify(message));
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #stream(): void {
    if (this.#isStream) return;
    this.#isStream = true;
    clearTimeout(this.#timer);
    const headers = { ...this.#headers("text/event-stream"), "cache-control": "no-cache, no-transform" };
    this.#response.writeHead(200, headers).flushHeaders();
    this.#timer = setInterval(() => this.#response.write(": alive\n\n"), ALIVE_MS);
  }

  #headers(type: string) {
    return { "content-type": type, "mcp-session-id": this.#session };
  }
}

const eventOf = (message: JSONRPCMessage) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;
