/**
 * The gate of a real task, for tests: its tools at an MCP endpoint on loopback, and the official client that
 * calls them.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { JsonObject, LaneTools, Values } from "../../src/contract/index.ts";
import { type BegunOutcome, builtinTools, Gate, type GatePlace, TaskPlace } from "../../src/gateway/index.ts";
import { openHome } from "../../src/home/index.ts";
import { fail } from "../../src/http/index.ts";
import type { Tool } from "../../src/lane/index.ts";
import {
  type McpFace,
  type Offer,
  openMcpFace,
  openServers,
  type UpstreamServers,
} from "../../src/mcp/index.ts";
import type { Session, Turn } from "../../src/session/index.ts";
import { readConfig } from "../../src/task/index.ts";
import { Task } from "../../src/task/task.ts";
import { outcomeOf as actionOutcomeOf, externalTools } from "../../src/worker/index.ts";
import { sandbox, TaskHome } from "./tasks.ts";

export interface GateAsked {
  readonly lane?: string;
  /** What replaces the tools of the lane. */
  readonly tools?: Partial<LaneTools>;
  readonly holdMs?: number;
  readonly more?: readonly Tool[];
  readonly secrets?: Values;
  readonly outcomeOf?: GatePlace["outcomeOf"];
  /** For servers that hang. */
  readonly patience?: { readonly openMs: number; readonly listMs: number };
}

export class GateHome extends TaskHome {
  readonly told: string[] = [];
  readonly #clients: Client[] = [];
  #homeId = "";
  #session: Session | undefined;
  #task: Task | undefined;
  #turn: Turn | undefined;
  #gate: Gate | undefined;
  #place: TaskPlace | undefined;
  #servers: UpstreamServers | undefined;
  #face: { readonly server: Server; readonly face: McpFace } | undefined;

  get homeId(): string {
    return this.#homeId;
  }

  get session(): Session {
    return present(this.#session);
  }

  get task(): Task {
    return present(this.#task);
  }

  get gate(): Gate {
    return present(this.#gate);
  }

  async begin({
    lane,
    tools = {},
    holdMs = 2000,
    more = [],
    secrets = {},
    outcomeOf,
    patience,
  }: GateAsked = {}): Promise<void> {
    const hf = await this.open();
    const session = await hf.openSession({ repo: this.main, title: "gate" });
    const begun = await hf.startTask(session, { ...sandbox, ...(lane && { lane }) });
    this.#session = session;
    const task = new Task(begun.room, begun.capsule, {
      sandbox: begun.sandbox,
      lane: { ...begun.lane, tools: { ...begun.lane.tools, ...tools } },
    });
    this.#task = task;
    const { io } = task.room;
    const { id, dir } = await openHome({ home: this.dir });
    this.#homeId = id;
    const home = { dir, id, io: { ...io, redact: session.redact } };
    const unasked = async () => ({ question: "q_1", answer: undefined });
    const place = new TaskPlace(task, { work: task.workplace(), send: async () => "msg_x", ask: unasked });
    this.#place = place;
    const own = [...builtinTools(place), ...(await externalTools({ home, task }))];
    const { mcp } = await readConfig(task.room, task.base);
    const onFailure = (why: string) => void this.told.push(why);
    const servers = await openServers({
      ...{ home, session, task, servers: mcp, onFailure, ...(patience && { patience }) },
      secrets: async (names) => Object.fromEntries(names.map((name) => [name, secrets[name] ?? ""])),
    });
    this.#servers = servers;
    let ids = 0;
    this.#gate = new Gate({
      ...{ home, session, task, holdMs },
      newId: (prefix) => {
        ids += 1;
        return `${prefix}_${ids}`;
      },
      stop: new AbortController().signal,
      tools: async (name) => [...own, ...more, ...(await servers.tools(name))],
      outcomeOf: outcomeOf ?? (async (action) => this.#outcomeOf(action)),
      waits: (text) => void this.told.push(text),
    });
    this.#turn = await session.beginTurn("work");
  }

  /** An official client, connected to the endpoint. */
  async client(offer: Offer = "all"): Promise<Client> {
    this.#face ??= await this.#serve();
    const { port } = this.#face.server.address() as AddressInfo;
    const client = new Client({ name: "test", version: "1" });
    this.#clients.push(client);
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/${offer}`)));
    return client;
  }

  get url(): string {
    const { port } = present(this.#face).server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/all`;
  }

  async #serve() {
    const face = await openMcpFace(this.gate);
    const server = createServer((request, response) => {
      const offer = request.url === "/beside" ? "beside" : "all";
      const form = { statusOf: () => 400, tellsWayOut: false, endsConnection: true };
      face.handle(request, response, offer).catch((error: unknown) => fail(response, error, form));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return { server, face };
  }

  #outcomeOf(action: string): BegunOutcome {
    const state = actionOutcomeOf(this.sessionDir(this.session.id), this.task.number, action);
    if (state.kind === "running") throw new Error("it is still running");
    if (state.kind !== "ended") return state;
    const { outcome, text, facts } = state.outcome;
    return { kind: "ended", outcome: outcome === "ok" ? "ok" : "error", text, ...(facts && { facts }) };
  }

  /** Records of this type, oldest first. */
  async records(type: string): Promise<JsonObject[]> {
    const found: JsonObject[] = [];
    const hf = await this.open();
    for await (const record of hf.readJournal(this.session.id))
      if (record.type === type) found.push(record.data);
    return found;
  }

  async end(): Promise<void> {
    for (const client of this.#clients) await client.close().catch(() => {});
    await this.#face?.face.close();
    this.#face?.server.closeAllConnections();
    this.#face?.server.close();
    await this.#place?.end();
    await this.#servers?.close();
    if (this.session.state.openTurn) await this.#turn?.end();
    await this.task.rest();
    await this.session.pause();
  }
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("begin first");
  return value;
}
