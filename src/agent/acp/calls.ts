/**
 * Owns the calls of one turn of an agent that speaks the Agent Client Protocol: what it told of each, in whatever order,
 * and whether that is on record.
 */
import type { SessionUpdate, ToolCallUpdate, ToolKind } from "@agentclientprotocol/sdk";
import type { Json } from "../../contract/index.ts";
import type { ToolCall } from "../../session/index.ts";
import type { AgentTurn } from "../adapter.ts";

type Told = Omit<ToolCallUpdate, "toolCallId">;
type ToolUpdate = Extract<SessionUpdate, { sessionUpdate: "tool_call" | "tool_call_update" }>;
type Update = Omit<ToolUpdate, "toolCallId" | "sessionUpdate">;

interface Call {
  /** All that the agent said of it. */
  told: Told;
  isOnRecord: boolean;
  /** It has no result yet. */
  open?: ToolCall | undefined;
}

export class Calls {
  readonly #turn: AgentTurn;
  /** By the agent's own ids. */
  readonly #calls = new Map<string, Call>();

  constructor(turn: AgentTurn) {
    this.#turn = turn;
  }

  /** Whether this would put one on record. An agent may tell of a call before it knows what it is about. */
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

  /** It is on record after this. Says why it is refused; undefined: it may run. */
  async ask(
    id: string,
    update: Told,
    whyNot: (kind: ToolKind | null | undefined) => string | undefined,
  ): Promise<string | undefined> {
    const call = this.#add(id, update);
    const refusal = whyNot(call.told.kind);
    await this.#putOnRecord(id, call);
    if (refusal === undefined) return undefined;
    await call.open?.refused(refusal);
    call.open = undefined;
    return refusal;
  }

  /** None is open after this. */
  async close(): Promise<void> {
    for (const { open } of this.#calls.values()) await open?.interrupted("the agent told no result");
    this.#calls.clear();
  }

  #add(id: string, update: Told): Call {
    const call = this.#calls.get(id) ?? { told: {}, isOnRecord: false };
    this.#calls.set(id, call);
    call.told = { ...call.told, ...stated(update) };
    return call;
  }

  async #putOnRecord(id: string, call: Call): Promise<void> {
    if (call.isOnRecord) return;
    call.isOnRecord = true;
    const { name, kind, title, rawInput } = call.told;
    const tool = name ?? kind ?? title ?? "tool";
    const args = asJson(hasFields(rawInput) ? rawInput : title);
    call.open = await this.#turn.callTool(tool.slice(0, 200), args, { call: id });
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
