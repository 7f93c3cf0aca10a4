/**
 * Owns one turn while it is open: what the agent says and calls, in order, and its one end.
 */
import {
  type Appended,
  type EventData,
  type EventType,
  HoldfastError,
  type Json,
  type Usage,
} from "../contract/index.ts";
import type { Clock } from "../util/index.ts";

/** What a turn needs of its session. */
interface TurnSession {
  append<T extends EventType>(type: T, data: EventData<T>): Promise<Appended>;
  pauseIfBudgetReached(): Promise<void>;
}

type CallOutcome = EventData<"tool_returned">["outcome"];

export class Turn implements AsyncDisposable {
  readonly number: number;
  readonly #session: TurnSession;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #open = new Map<string, ToolCall>();
  #calls = 0;
  #isEnded = false;

  constructor(session: TurnSession, number: number, clock: Clock) {
    this.#session = session;
    this.number = number;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  async addMessage(role: EventData<"message_added">["role"], content: Json): Promise<Appended> {
    return this.#session.append("message_added", { turn: this.number, role, content });
  }

  /** Resolves when the intent is on disk: run the tool after that, and report what came of it to the call. */
  async callTool(tool: string, args: Json, options: { call?: string } = {}): Promise<ToolCall> {
    this.#calls += 1;
    const id = options.call ?? `${this.number}.${this.#calls}`;
    await this.#session.append("tool_called", { turn: this.number, call: id, tool, args });
    const settle = async (outcome: CallOutcome, output: Json) => {
      const appended = await this.#session.append("tool_returned", {
        turn: this.number,
        call: id,
        outcome,
        output,
      });
      this.#open.delete(id);
      return appended;
    };
    const call = new ToolCall(id, tool, settle);
    this.#open.set(id, call);
    return call;
  }

  async end(usage: Usage = {}): Promise<void> {
    await this.#end("completed", usage);
  }

  async fail(usage: Usage = {}): Promise<void> {
    await this.#end("failed", usage);
  }

  /** Ends the turn from outside: open calls get the outcome `interrupted`. Does nothing when it has ended. */
  async interrupt(): Promise<void> {
    if (this.#isEnded) return;
    for (const call of [...this.#open.values()]) await call.interrupted();
    await this.#end("interrupted", {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.interrupt();
  }

  async #end(outcome: EventData<"turn_ended">["outcome"], usage: Usage): Promise<void> {
    if (this.#isEnded) throw new HoldfastError("turn_closed", `turn ${this.number} has ended`);
    const durationMs = Math.round(this.#clock.monotonicMs() - this.#startedMs);
    await this.#session.append("turn_ended", { turn: this.number, outcome, usage, durationMs });
    this.#isEnded = true;
    await this.#session.pauseIfBudgetReached();
  }
}

export class ToolCall {
  readonly id: string;
  readonly tool: string;
  readonly #settle: (outcome: CallOutcome, output: Json) => Promise<Appended>;

  constructor(id: string, tool: string, settle: (outcome: CallOutcome, output: Json) => Promise<Appended>) {
    this.id = id;
    this.tool = tool;
    this.#settle = settle;
  }

  returned(output: Json): Promise<Appended> {
    return this.#settle("ok", output);
  }

  failed(output: Json): Promise<Appended> {
    return this.#settle("error", output);
  }

  interrupted(): Promise<Appended> {
    return this.#settle("interrupted", `${this.tool} was interrupted: its outcome is unknown.`);
  }
}
