/**
 * Owns the tool calls in one turn of an agent that speaks the Agent Client Protocol: what the agent reported
 * about each, in any order, and whether the call is recorded.
 */
import type { SessionUpdate, ToolCallUpdate, ToolKind } from "@agentclientprotocol/sdk";
import type { Json } from "../../contract/index.ts";
import type { ToolCall } from "../../session/index.ts";
import type { AgentTurn } from "../adapter.ts";
import { isOfGate } from "./kinds.ts";

type Told = Omit<ToolCallUpdate, "toolCallId">;
type ToolUpdate = Extract<SessionUpdate, { sessionUpdate: "tool_call" | "tool_call_update" }>;
type Update = Omit<ToolUpdate, "toolCallId" | "sessionUpdate">;

interface Call {
  /** Everything that the agent reported about it. */
  told: Told;
  isOnRecord: boolean;
  /** Once the agent has named it as a tool of the gate, it stays one: goose later gives it another title. */
  isOfGate: boolean;
  /** Set while it has no result. */
  open?: ToolCall | undefined;
}

export class Calls {
  readonly #turn: AgentTurn;
  /** By the agent's own ids. */
  readonly #calls = new Map<string, Call>();

  constructor(turn: AgentTurn) {
    this.#turn = turn;
  }

  /** Whether this update would record a call. An agent may report a call before its arguments are known. */
  isNews(id: string, { status, rawInput }: Update): boolean {
    return !this.#calls.get(id)?.isOnRecord && (status !== "pending" || hasFields(rawInput));
  }

  async tell(id: string, update: Update): Promise<void> {
    const isNews = this.isNews(id, update);
    const call = this.#add(id, update);
    if (isNews) await this.#putOnRecord(id, call);
    const { status } = update;
    const { open, told } = call;
    if (!open || (status !== "completed" && status !== "failed")) return;
    call.open = undefined;
    const output = asJson(told.rawOutput ?? told.content);
    await (status === "completed" ? open.returned(output) : open.failed(output));
  }

  /** The call is recorded when this returns. Returns why it is refused; undefined: it may run. */
  async ask(
    id: string,
    update: Told,
    whyNot: (kind: ToolKind | null | undefined, args: Json) => string | undefined,
  ): Promise<string | undefined> {
    const call = this.#add(id, update);
    const refusal = call.isOfGate ? undefined : whyNot(call.told.kind, argsOf(call.told));
    await this.#putOnRecord(id, call);
    if (refusal === undefined) return undefined;
    await call.open?.refused(refusal);
    call.open = undefined;
    return refusal;
  }

  /** Closes all open calls. */
  async close(): Promise<void> {
    for (const { open } of this.#calls.values()) await open?.interrupted("the agent reported no result");
    this.#calls.clear();
  }

  #add(id: string, update: Told): Call {
    const call = this.#calls.get(id) ?? { told: {}, isOnRecord: false, isOfGate: false };
    this.#calls.set(id, call);
    call.told = { ...call.told, ...stated(update) };
    call.isOfGate ||= isOfGate(call.told);
    return call;
  }

  async #putOnRecord(id: string, call: Call): Promise<void> {
    // The gate records calls of the session's own tools.
    if (call.isOnRecord || call.isOfGate) return;
    call.isOnRecord = true;
    const { name, kind, title } = call.told;
    const tool = name ?? kind ?? title ?? "tool";
    call.open = await this.#turn.callTool(tool.slice(0, 200), argsOf(call.told), { call: id });
  }
}

const asJson = (value: unknown): Json =>
  value === undefined ? null : (JSON.parse(JSON.stringify(value)) as Json);

const argsOf = ({ rawInput, title }: Told): Json => asJson(hasFields(rawInput) ? rawInput : title);

/** Whether any field besides the directory is known: some agents know that one first. */
const hasFields = (value: unknown) =>
  typeof value === "object" && value !== null && Object.keys(value).some((field) => field !== "cwd");

/** Leaves out the fields that the update does not set. */
function stated(update: Told): Told {
  return Object.fromEntries(
    Object.entries(update).filter(([, value]) => value !== undefined && value !== null),
  );
}
