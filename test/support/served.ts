/**
 * `serve` of a home, on a socket or on loopback, and a client for it.
 */
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { expect } from "vitest";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import type { HostHome } from "./hosts.ts";

interface Asked {
  readonly method?: string;
  readonly token?: string | null;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

export class Served implements AsyncDisposable {
  readonly home: HostHome;
  readonly #process: ReturnType<HostHome["spawnCli"]>;
  readonly address: string;
  readonly token: string;

  private constructor(
    home: HostHome,
    process: ReturnType<HostHome["spawnCli"]>,
    address: string,
    token: string,
  ) {
    this.home = home;
    this.#process = process;
    this.address = address;
    this.token = token;
  }

  static async start(home: HostHome, ...args: string[]): Promise<Served> {
    const child = home.spawnCli(["serve", "--json", ...args]);
    const [line] = await once(child.stdout, "data");
    const { address, token } = JSON.parse(String(line).split("\n")[0] ?? "");
    expect(statSync(token).mode & 0o777).toBe(0o600);
    return new Served(home, child, address, readFileSync(token, "utf8").trim());
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get where() {
    const [, host = "", port = ""] = /^(127[\d.]+):(\d+)$/.exec(this.address) ?? [];
    return port ? { host, port: Number(port) } : { socketPath: this.address };
  }

  open(
    path: string,
    { method = "GET", token = this.token, headers = {}, body }: Asked = {},
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const call = request(
        {
          ...this.where,
          agent: false,
          path,
          method,
          headers: {
            ...(token && { authorization: `Bearer ${token}` }),
            ...(body !== undefined && { "content-type": "application/json" }),
            ...headers,
          },
        },
        resolve,
      );
      call.on("error", reject);
      call.end(body);
    });
  }

  async ask(path: string, asked: Asked = {}): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await this.open(path, asked);
    let text = "";
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode ?? 0, body: text.startsWith("{") ? JSON.parse(text) : {} };
  }

  raw(allowHalfOpen = false): Socket {
    const { where } = this;
    return connect({
      ...("socketPath" in where ? { path: where.socketPath } : where),
      allowHalfOpen,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    kill(this.pid, "SIGTERM");
    if (this.#process.exitCode === null && this.#process.signalCode === null)
      await once(this.#process, "exit");
  }
}

export const idIn = (body: Record<string, unknown>) => String(body["id"]);
