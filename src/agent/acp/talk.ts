/**
 * Owns the connection to an agent that speaks the Agent Client Protocol: what it says becomes messages and calls of the
 * turn that is open, in the order in which it came.
 *
 * The protocol leaves it to the agent which tools it asks for. A call that it asks for is on record before its tool runs,
 * and refused where the lane doesn't have it; of others it tells while they run. What holds the agent to its lane is the
 * sandbox.
 */
import { type PassThrough, Readable, Writable } from "node:stream";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
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
import { whyNotKind } from "./kinds.ts";

const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** A history is told when nothing more of it came for so long; it is not waited for more often than that. */
const HISTORY_QUIET_MS = 200;
const HISTORY_WAITS = 100;

type Told = Omit<ToolCallUpdate, "toolCallId">;
type ToolUpdate = Extract<SessionUpdate, { sessionUpdate: "tool_call" | "tool_call_update" }>;

interface Call {
  /** All that the agent said of it. */
  told: Told;
  isOnRecord: boolean;
  /** It has no result yet. */
  open?: ToolCall | undefined;
}

export class AcpTalk {
  readonly connection: ClientConnection;
  readonly #work: Workplace;
  /** Of this turn, by the agent's own ids. */
  readonly #calls = new Map<string, Call>();
  #turn: AgentTurn | undefined;
  #said = "";
  #updates = 0;
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
      .onNotification(methods.client.session.update, ({ params }) => {
        this.#updates += 1;
        return this.#queue(() => this.#note(params.update));
      })
      .connect(stream);
  }

  /** An agent that loads a conversation tells its history. It should have before it answers, but some go on after. */
  async historyTold(): Promise<void> {
    let before = -1;
    for (let wait = 0; wait < HISTORY_WAITS && before !== this.#updates; wait += 1) {
      before = this.#updates;
      await sleep(HISTORY_QUIET_MS, undefined, { signal: this.#work.stop });
    }
  }

  /** What it says from now on belongs to this turn; what it says outside of one is history that it repeats. */
  open(turn: AgentTurn): void {
    this.#turn = turn;
  }

  /** All that it said is on record after this, and no call is open. */
  async settle(): Promise<void> {
    await this.#queue(async () => {
      await this.#endSaying();
      for (const { open } of this.#calls.values()) await open?.interrupted("the agent told no result");
      this.#calls.clear();
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
    const call = this.#tell(id, update);
    if (status !== "pending" || hasFields(update.rawInput)) await this.#putOnRecord(id, call);
    const { open, told } = call;
    if (!open || (status !== "completed" && status !== "failed")) return;
    call.open = undefined;
    const output = asJson(told.rawOutput ?? told.content);
    await (status === "completed" ? open.returned(output) : open.failed(output));
  }

  /** An agent may tell of a call before it knows what it is about. */
  #tell(id: string, update: Told): Call {
    const call = this.#calls.get(id) ?? { told: {}, isOnRecord: false };
    this.#calls.set(id, call);
    call.told = { ...call.told, ...stated(update) };
    return call;
  }

  async #putOnRecord(id: string, call: Call): Promise<void> {
    if (call.isOnRecord) return;
    call.isOnRecord = true;
    await this.#endSaying();
    const { name, kind, title, rawInput } = call.told;
    const tool = name ?? kind ?? title ?? "tool";
    const args = asJson(hasFields(rawInput) ? rawInput : title);
    call.open = await this.#turn?.callTool(tool.slice(0, 200), args, { call: id });
  }

  async #endSaying(): Promise<void> {
    const text = this.#said;
    this.#said = "";
    if (text.trim() === "") return;
    this.#work.show("\n");
    await this.#turn?.addMessage("assistant", text);
  }

  /** What its lane has, once, each time. */
  async #permit({ options, toolCall }: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    const { toolCallId: id, ...update } = toolCall;
    let refusal: string | undefined;
    await this.#queue(async () => {
      const call = this.#tell(id, update);
      refusal = whyNotKind(call.told.kind, this.#work.tools);
      await this.#putOnRecord(id, call);
      if (refusal === undefined) return;
      await call.open?.refused(refusal);
      call.open = undefined;
    });
    const wanted = refusal === undefined ? "allow_once" : "reject_once";
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
