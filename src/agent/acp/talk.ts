/**
 * Owns the connection to an agent that speaks the Agent Client Protocol: what it says becomes messages and calls of the
 * turn that is open, in the order in which it came.
 *
 * The protocol tells of most tools while they run, so a call is on record before its tool runs only where the agent asks.
 * What holds the agent to its lane is the sandbox.
 */
import { type PassThrough, Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import {
  type ClientConnection,
  client,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import type { Json } from "../../contract/index.ts";
import type { ToolCall } from "../../session/index.ts";
import type { AgentProcess, AgentTurn, Workplace } from "../adapter.ts";

const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

type Told = Omit<ToolCallUpdate, "toolCallId">;
type ToolUpdate = Extract<SessionUpdate, { sessionUpdate: "tool_call" | "tool_call_update" }>;

export class AcpTalk {
  readonly connection: ClientConnection;
  readonly #work: Workplace;
  readonly #calls = new Map<string, ToolCall>();
  /** What was told of each call of this turn, all together. */
  readonly #told = new Map<string, Told>();
  readonly #begun = new Set<string>();
  #turn: AgentTurn | undefined;
  #said = "";
  #recorded: Promise<void> = Promise.resolve();

  /** `output`: what the agent's process writes. */
  constructor(work: Workplace, process: AgentProcess, output: PassThrough) {
    this.#work = work;
    const { input } = process;
    if (!input) throw new Error("the agent's process has no input");
    const stream = ndJsonStream(
      Writable.toWeb(input) as WritableStream<Uint8Array>,
      Readable.toWeb(output) as ReadableStream<Uint8Array>,
      { maxMessageBytes: MAX_MESSAGE_BYTES },
    );
    this.connection = client({ name: "holdfast" })
      .onRequest(methods.client.session.requestPermission, ({ params }) => this.#permit(params))
      .onNotification(methods.client.session.update, ({ params }) =>
        this.#queue(() => this.#note(params.update)),
      )
      .connect(stream);
  }

  /** What it says from now on belongs to this turn; what it says outside of one is history that it repeats. */
  open(turn: AgentTurn): void {
    this.#turn = turn;
  }

  /** All that it said is on record after this, and no call is open. */
  async settle(): Promise<void> {
    await this.#queue(async () => {
      await this.#endSaying();
      for (const call of this.#calls.values()) await call.interrupted("the agent told no result");
      this.#calls.clear();
      this.#told.clear();
      this.#begun.clear();
      this.#turn = undefined;
    });
  }

  /** Resolves when what was read of it up to now is on record. */
  async caughtUp(): Promise<void> {
    await setImmediate();
    await this.#recorded;
  }

  /** One after the other: the protocol's library hands messages out without waiting. */
  #queue(step: () => Promise<void>): Promise<void> {
    this.#recorded = this.#recorded.then(step);
    return this.#recorded;
  }

  async #note(update: SessionUpdate): Promise<void> {
    if (!this.#turn) return;
    if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") {
      this.#work.show(update.content.text);
      this.#said += update.content.text;
    } else if (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update")
      await this.#noteTool(update);
  }

  async #noteTool({ sessionUpdate: _, ...update }: ToolUpdate): Promise<void> {
    const { toolCallId: id, status } = update;
    // An agent may tell of a call before it knows what it is about.
    const told: Told = { ...this.#told.get(id), ...stated(update) };
    this.#told.set(id, told);
    if (status !== "pending" || hasFields(update.rawInput)) await this.#begin(id, told);
    const call = this.#calls.get(id);
    if (!call || (status !== "completed" && status !== "failed")) return;
    this.#calls.delete(id);
    const output = asJson(told.rawOutput ?? told.content);
    await (status === "completed" ? call.returned(output) : call.failed(output));
  }

  /** Once of each call. */
  async #begin(call: string, { name, kind, title, rawInput }: Told): Promise<void> {
    if (this.#begun.has(call)) return;
    this.#begun.add(call);
    await this.#endSaying();
    const tool = name ?? kind ?? title ?? "tool";
    const args = asJson(hasFields(rawInput) ? rawInput : title);
    const made = await this.#turn?.callTool(tool.slice(0, 200), args, { call });
    if (made) this.#calls.set(call, made);
  }

  async #endSaying(): Promise<void> {
    const text = this.#said;
    this.#said = "";
    if (text.trim() === "") return;
    this.#work.show("\n");
    await this.#turn?.addMessage("assistant", text);
  }

  /** It may do what its sandbox lets it do: once, each time. */
  async #permit({ options, toolCall }: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    const { toolCallId: id, ...update } = toolCall;
    await this.#queue(() => this.#begin(id, { ...this.#told.get(id), ...stated(update) }));
    const isWriting = toolCall.kind !== "read" && toolCall.kind !== "search" && toolCall.kind !== "think";
    const isRefused = isWriting && this.#work.tools.isReadOnly;
    const wanted = isRefused ? "reject_once" : "allow_once";
    const option = options.find(({ kind }) => kind === wanted);
    return {
      outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" },
    };
  }
}

const asJson = (value: unknown): Json =>
  value === undefined ? null : (JSON.parse(JSON.stringify(value)) as Json);

const hasFields = (value: unknown) =>
  typeof value === "object" && value !== null && Object.keys(value).length > 0;

/** Without what an update leaves open. */
function stated(update: Told): Told {
  return Object.fromEntries(
    Object.entries(update).filter(([, value]) => value !== undefined && value !== null),
  );
}
