/**
 * Owns one turn as its harness uses it: what the agent writes and calls, in order, and how the turn ends. The
 * session knows whether the turn and its calls are still open.
 */
import type { Appended, EventData, Json, Usage } from "../contract/index.ts";
import { assertKnown, type Clock } from "../util/index.ts";
import type { BudgetLeft } from "./budget.ts";

type TurnEvent = "message_added" | "tool_called" | "tool_returned" | "turn_ended" | "usage_metered";
type CallOutcome = EventData<"tool_returned">["outcome"];

/** One request to a model, as a loop reports it. */
export interface RequestUsage extends Usage {
  /** Who served the model. Default: `own`. */
  readonly provider?: string;
}

const USAGE = [
  ...(["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"] as const),
  ...(["usd", "model"] as const),
] satisfies (keyof Usage)[];

/** What a turn needs from its session. */
interface TurnSession {
  append<T extends TurnEvent>(type: T, data: EventData<T>): Promise<Appended>;
  interruptTurn(turn: number): Promise<void>;
  pauseIfBudgetReached(): Promise<void>;
  budgetLeft(): BudgetLeft;
}

/** One turn that is open: what goes into the conversation, and its one end. */
export class Turn implements AsyncDisposable {
  /** Turns are numbered through a session, from 1. */
  readonly number: number;
  readonly #session: TurnSession;
  readonly #clock: Clock;
  readonly #startedMs: number;
  #calls = 0;
  #requests = 0;

  /** @internal */
  constructor(session: TurnSession, number: number, clock: Clock) {
    this.#session = session;
    this.number = number;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  /** How long the turn has been open. */
  get elapsedMs(): number {
    return Math.max(0, Math.round(this.#clock.monotonicMs() - this.#startedMs));
  }

  /** Adds a message to the conversation. Resolves when it is on disk. */
  addMessage(role: EventData<"message_added">["role"], content: Json): Promise<Appended> {
    return this.#session.append("message_added", { turn: this.number, role, content });
  }

  /**
   * Records the intent of a call. Resolves when it is on disk. Run the tool after that, and report its result to the
   * returned call.
   */
  async callTool(tool: string, args: Json, options: { readonly call?: string } = {}): Promise<ToolCall> {
    assertKnown("callTool", options, ["call"]);
    this.#calls += 1;
    const id = options.call ?? `${this.number}.${this.#calls}`;
    await this.#session.append("tool_called", { turn: this.number, call: id, tool, args });
    const settle = (outcome: CallOutcome, output: Json) =>
      this.#session.append("tool_returned", { turn: this.number, call: id, outcome, output });
    return new ToolCall(id, tool, settle);
  }

  /**
   * Reports one request to a model while the turn is open, so that it counts against the budget at once. What is
   * reported here is not reported again at the end of the turn.
   */
  async reportUsage(usage: RequestUsage): Promise<Appended> {
    assertKnown("reportUsage", usage, [...USAGE, "provider"]);
    const { model = "unknown", provider = "own", usd, ...tokens } = usage;
    const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = tokens;
    this.#requests += 1;
    return this.#session.append("usage_metered", {
      ...{ turn: this.number, request: `${this.number}.r${this.#requests}`, provider, model },
      ...{ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens },
      ...(usd !== undefined && { usd }),
      isPriced: usd !== undefined,
    });
  }

  /** Returns what is left of the session's budget now, after the time that this turn has taken. Ask before each request. */
  budgetLeft(): BudgetLeft {
    return this.#session.budgetLeft();
  }

  /** Ends the turn as completed. A session whose budget is reached is paused. */
  async end(usage: Usage = {}): Promise<void> {
    assertKnown("end", usage, USAGE);
    await this.#end("completed", usage);
  }

  /** Ends the turn as failed. */
  async fail(usage: Usage = {}): Promise<void> {
    assertKnown("fail", usage, USAGE);
    await this.#end("failed", usage);
  }

  /**
   * Interrupts the turn. Open calls get the outcome `interrupted`. Does nothing if the turn has ended.
   */
  interrupt(): Promise<void> {
    return this.#session.interruptTurn(this.number);
  }

  /** Interrupts the turn if it is still open. */
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

/** One tool call whose intent is on disk. Report its outcome once, by one of the four methods. */
export class ToolCall {
  /** The id that the journal has for the call. */
  readonly id: string;
  /** The name of the tool. */
  readonly tool: string;
  readonly #settle: (outcome: CallOutcome, output: Json) => Promise<Appended>;

  /** @internal */
  constructor(id: string, tool: string, settle: (outcome: CallOutcome, output: Json) => Promise<Appended>) {
    this.id = id;
    this.tool = tool;
    this.#settle = settle;
  }

  /** Reports that the tool ran and succeeded. */
  returned(output: Json): Promise<Appended> {
    return this.#settle("ok", output);
  }

  /** Reports that the tool ran and failed. */
  failed(output: Json): Promise<Appended> {
    return this.#settle("error", output);
  }

  /** Reports that the call did not run. */
  refused(output: Json): Promise<Appended> {
    return this.#settle("refused", output);
  }

  /** Reports that the tool was cut off, and that it is not known whether it had its effect. */
  interrupted(output: Json): Promise<Appended> {
    return this.#settle("interrupted", output);
  }
}
