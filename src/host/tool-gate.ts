/**
 * Owns the gate of the task that a session process drives: its tools, which are put together when the first
 * call or client comes, and the ways to it: the session's door, and a port inside the task's own network.
 */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { GateAccess, GateAnswer, GateCall, ToolGate } from "../agent/index.ts";
import { HoldfastError, isHoldfastError, type JsonObject, type ToolsWanted } from "../contract/index.ts";
import type { Gate } from "../gateway/index.ts";
import { readToken, sessionDirOf } from "../home/index.ts";
import { bearerOf, type FailureForm, fail, isSameToken, Refusal, urlOf } from "../http/index.ts";
import type { ToolDescription } from "../lane/index.ts";
import { type McpFace, type Offer, SHIM_FILE } from "../mcp/index.ts";
import { type GateParts, hasMore, type TaskTools, toolsFor } from "./task-tools.ts";

const MAX_CONNECTIONS = 64;
const MCP_PATH = "/mcp";
const BESIDE_PATH = "/mcp/beside";
const OFFERS: Readonly<Record<string, Offer>> = { [MCP_PATH]: "all", [BESIDE_PATH]: "beside" };
export const offerAt = (path: string): Offer | undefined =>
  Object.hasOwn(OFFERS, path) ? OFFERS[path] : undefined;

interface Way {
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Opened {
  readonly gate: Gate;
  readonly tools: TaskTools;
  /** For the first client that comes. */
  openFace(): Promise<McpFace>;
  closeFace(): Promise<void>;
}

export class TaskGate implements ToolGate {
  readonly #parts: GateParts;
  readonly #sockets = new Set<Socket>();
  #opened: Promise<Opened> | undefined;
  #now: Opened | undefined;
  #way: Promise<Way> | undefined;
  #server: Server | undefined;

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  async list(): Promise<readonly ToolDescription[]> {
    return (await this.#open()).gate.list();
  }

  async call(tool: string, args: JsonObject, options: GateCall = {}): Promise<GateAnswer> {
    return (await this.#open()).gate.call(tool, args, options);
  }

  async access(wanted: ToolsWanted): Promise<GateAccess | undefined> {
    if (wanted === "own" && !(await hasMore(this.#parts))) return undefined;
    this.#way ??= this.#openWay();
    const { origin, headers } = await this.#way;
    const isInstead = wanted === "gateway";
    const path = isInstead ? MCP_PATH : BESIDE_PATH;
    const shim = ["node", `${this.#parts.doorInside}/${SHIM_FILE}`, path];
    return { url: `${origin}${path}`, headers, shim, isInstead };
  }

  /** A client at the door, or at the port. */
  async handle(request: IncomingMessage, response: ServerResponse, offer: Offer): Promise<void> {
    const { openFace } = await this.#open();
    await (await openFace()).handle(request, response, offer);
  }

  /** An action that an earlier process began, and did not finish, is found out about and recorded. */
  async settle(): Promise<void> {
    const { session } = this.#parts;
    if (!Object.values(session.state.grants).some(({ hasBegun }) => hasBegun)) return;
    const { gate } = await this.#open();
    await gate.settleBegun().catch((error: unknown) => {
      // It was stopped meanwhile: the next process settles it.
      if (!isHoldfastError(error, "interrupted")) throw error;
    });
  }

  /** Whether a call waits for the decision about this request. */
  isAwaited(request: string): boolean {
    return this.#now !== undefined && [this.#now.gate, this.#now.tools].some((one) => one.isAwaited(request));
  }

  async close(): Promise<void> {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
    const opened = await this.#opened?.catch(() => undefined);
    opened?.gate.close();
    await opened?.closeFace();
    await opened?.tools.close();
  }

  /** Loaded for a task that uses it: most commands do not. */
  #open(): Promise<Opened> {
    this.#opened ??= (async () => {
      const { Gate } = await import("../gateway/index.ts");
      const { openMcpFace } = await import("../mcp/index.ts");
      const tools = await toolsFor(this.#parts);
      const { home, session, task, stop, holdMs, waits } = this.#parts;
      const { newId } = home;
      const gate = new Gate({
        ...{ home, newId, session, task, stop, holdMs, waits },
        tools: (name) => tools.list(name),
        outcomeOf: tools.outcomeOf,
      });
      let face: Promise<McpFace> | undefined;
      const openFace = () => {
        face ??= openMcpFace(gate);
        return face;
      };
      this.#now = { gate, tools, openFace, closeFace: async () => (await face)?.close() };
      return this.#now;
    })();
    return this.#opened;
  }

  /** Opened for the first agent that asks. */
  async #openWay(): Promise<Way> {
    const { task } = this.#parts;
    const isOpen = task.sandbox === undefined;
    const key = isOpen ? await this.#ownKey() : undefined;
    const accept = await this.#accepting(key);
    const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const port = isOpen ? await this.#listen(accept) : await task.network.serve(accept);
    return { origin: `http://127.0.0.1:${port}`, headers };
  }

  async #listen(accept: (socket: Socket) => void): Promise<number> {
    const server = createServer({ noDelay: true }, accept);
    this.#server = server;
    server.unref().listen(0, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }

  /**
   * `key`: without a sandbox, a caller has to send it. In a sandbox, the network alone shows whose call it
   * is.
   */
  async #accepting(key: string | undefined): Promise<(socket: Socket) => void> {
    const { createServer: createHttp } = await import("node:http");
    const http = createHttp((request, response) => {
      const answer = async () => {
        if (key !== undefined && !isSameToken(key, bearerOf(request)))
          throw new Refusal(401, "unauthorized", "this session's key is missing or wrong");
        const offer = offerAt(urlOf(request).pathname);
        if (offer === undefined) throw new Refusal(404, "not_found", "there is nothing here");
        await this.handle(request, response, offer);
      };
      answer().catch((error: unknown) => fail(response, error, FAILURES));
    });
    return (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket)).on("error", () => {});
      if (this.#sockets.size > MAX_CONNECTIONS) return void socket.destroy();
      http.emit("connection", socket);
    };
  }

  /**
   * A key of the session's own, which is not its token: other processes of the same user can read what an
   * environment has.
   */
  async #ownKey(): Promise<string> {
    const { home, session } = this.#parts;
    const token = await readToken(home.io.disk, sessionDirOf(home, session.id));
    if (token === undefined) throw new HoldfastError("token_revoked", "the session's token was revoked");
    return `hf-${createHmac("sha256", token).update("gateway").digest("hex")}`;
  }
}

const FAILURES: FailureForm = { statusOf: () => 400, tellsWayOut: false, endsConnection: true };
