/**
 * Owns one turn as its harness sees it: what the agent says and calls, in order, and its one end. Whether the
 * turn and its calls are still open is the session's to know.
 */
import type { Appended, EventData, Json, Usage } from "../contract/index.ts";
import type { Clock } from "../util/index.ts";

type TurnEvent = "message_added" | "tool_called" | "tool_returned" | "turn_ended";
type CallOutcome = EventData<"tool_returned">["outcome"];

/** What a turn needs of its session. */
interface TurnSession {
  append<T extends TurnEvent>(type: T, data: EventData<T>): Promise<Appended>;
  interruptTurn(turn: number): Promise<void>;
  pauseIfBudgetReached(): Promise<void>;
}

export class Turn implements AsyncDisposable {
  readonly number: number;
  readonly #session: TurnSession;
  readonly #clock: Clock;
  readonly #startedMs: number;
  #calls = 0;

  constructor(session: TurnSession, number: number, clock: Clock) {
    this.#session = session;
    this.number = number;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  get elapsedMs(): number {
    return Math.max(0, Math.round(this.#clock.monotonicMs() - this.#startedMs));
  }

  addMessage(role: EventData<"message_added">["role"], content: Json): Promise<Appended> {
    return this.#session.append("message_added", { turn: this.number, role, content });
  }

  /** Resolves when the intent is on disk: run the tool after that, and report what came of it to the call. */
  async callTool(tool: string, args: Json, options: { call?: string } = {}): Promise<ToolCall> {
    this.#calls += 1;
    const id = options.call ?? `${this.number}.${this.#calls}`;
    await this.#session.append("tool_called", { turn: this.number, call: id, tool, args });
    const settle = (outcome: CallOutcome, output: Json) =>
      this.#session.append("tool_returned", { turn: this.number, call: id, outcome, output });
    return new ToolCall(id, tool, settle);
  }

  end(usage: Usage = {}): Promise<void> {
    return this.#end("completed", usage);
  }

  fail(usage: Usage = {}): Promise<void> {
    return this.#end("failed", usage);
  }

  /** Ends the turn from outside: open calls get the outcome `interrupted`. Does nothing when it has ended. */
  interrupt(): Promise<void> {
    return this.#session.interruptTurn(this.number);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.interrupt();
  }

  async #end(outcome: EventData<"turn_ended">["outcome"], usage: Usage): Promise<void> {
    await this.#session.append("turn_ended", {
      turn: this.number,
      outcome,
      usage,
      durationMs: this.elapsedMs,
    });
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

  /** It did not run. */
  refused(output: Json): Promise<Appended> {
    return this.#settle("refused", output);
  }

  interrupted(output: Json): Promise<Appended> {
    return this.#settle("interrupted", output);
  }
}
