/**
 * Owns the connection between Holdfast's MCP client and a server in a sandbox of its own: one message per
 * line, over the server's standard input and output. Output that is not a message, or a line that does not
 * end, ends the server.
 */
import type { Writable } from "node:stream";
import {
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";

import type { Executable } from "../../task/index.ts";

/** A longer line is not a message. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** More messages without an answer among them are a flood: each costs our process some of its time. */
const MAX_UNASKED = 10_000;

/** A server that was started. */
export interface ServerProcess {
  readonly pid: number;
  readonly input: Writable;
  /** The program that was started; null if it is not one of the machine's. */
  readonly executable: Executable | null;
  /** Ends all of its processes. */
  end(): void;
}

export type StartServer = (
  onOutput: (chunk: Buffer) => void,
  onEnd: (why: string) => void,
) => Promise<ServerProcess>;

export class Pipe implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #start: StartServer;
  readonly #read = new ReadBuffer({ maxBufferSize: MAX_LINE_BYTES });
  #server: ServerProcess | undefined;
  #whyClosed: string | undefined;
  #unasked = 0;

  constructor(start: StartServer) {
    this.#start = start;
  }

  get server(): Pick<ServerProcess, "pid" | "executable"> | undefined {
    return this.#server;
  }

  /** Undefined while it is open. */
  get whyClosed(): string | undefined {
    return this.#whyClosed;
  }

  async start(): Promise<void> {
    this.#server = await this.#start(
      (chunk) => this.#take(chunk),
      (why) => this.#closed(why),
    );
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#whyClosed !== undefined) throw new Error(this.#whyClosed);
    const { input } = this.#server ?? {};
    input?.write(serializeMessage(message));
    if ((input?.writableLength ?? 0) > MAX_LINE_BYTES) this.#closed("it does not read its input");
  }

  async close(): Promise<void> {
    this.#closed("it was ended");
  }

  #take(chunk: Buffer): void {
    if (this.#whyClosed !== undefined) return;
    try {
      this.#read.append(chunk);
      for (;;) {
        const message = this.#read.readMessage();
        if (message === null) return;
        this.#unasked = "result" in message || "error" in message ? 0 : this.#unasked + 1;
        if (this.#unasked > MAX_UNASKED) this.#closed("it sent too many messages that were not requested");
        if (this.#whyClosed !== undefined) return;
        this.onmessage?.(message);
      }
    } catch {
      this.#closed("it wrote a line that is not a message, or one that is too long");
    }
  }

  #closed(why: string): void {
    if (this.#whyClosed !== undefined) return;
    this.#whyClosed = why;
    this.#read.clear();
    this.#server?.end();
    this.onclose?.();
  }
}
