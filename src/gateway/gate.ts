/**
 * Owns the gate that every call of a session's tools goes through, from an agent over MCP or from the script
 * agent. The task's lane judges the call. The call is recorded before it has an effect, and its outcome
 * before it is answered.
 *
 * gate-1 A tool that the lane does not have is not listed, and is refused if it is called.
 * gate-2 No effect without a record: a tool that can write or act begins only after the call is on disk.
 */
import type { GateAnswer, GateCall, ToolGate } from "../agent/index.ts";
import { type ErrorCode, HoldfastError, isHoldfastError, type JsonObject } from "../contract/index.ts";
import {
  type CallContext,
  hasTool,
  isActing,
  type Tool,
  type ToolDescription,
  type ToolOutcome,
} from "../lane/index.ts";
import { enterDecision } from "../task/index.ts";
import { type Answer, Asking } from "./asking.ts";
import { Cutting } from "./cutting.ts";
import { keepOffered } from "./offered.ts";
import type { GatePlace } from "./place.ts";
import { whyInvalid } from "./schema.ts";
import { settleBegun } from "./settling.ts";

/** At most this many refused calls of a task are recorded, so that refusals can't fill a journal. */
const MAX_REFUSALS = 100;

/** No agent needs more calls at once, and each may use some megabytes. */
const MAX_OPEN = 32;
/** A call that only reads is recorded together with its outcome, or after this time at the latest. */
const SOON_MS = 5;
/** The turn has ended meanwhile, or the session was paused or closed. */
const TOO_LATE: readonly ErrorCode[] = [
  "turn_closed",
  "invalid_data",
  "illegal_transition",
  "session_released",
];

/** No tool has this name. With it, only tools that need no server are listed. */
const NO_SERVER = "";

export interface GateOptions extends GateCall {
  /** Reports the progress of a call, if the caller wants it. */
  readonly progress?: (text: string) => void;
}

export class Gate implements Omit<ToolGate, "access"> {
  readonly #place: GatePlace;
  readonly #asking: Asking;
  readonly #cutting: Cutting;
  #refusals = 0;
  /** Whether `tools.json` was written. */
  #isKept = false;
  /** The number of calls without an answer. */
  #open = 0;

  constructor(place: GatePlace) {
    this.#place = place;
    this.#asking = new Asking(place);
    this.#cutting = new Cutting(place.session);
  }

  async list(): Promise<readonly ToolDescription[]> {
    const tools = (await this.#tools()).map(({ name, class: kind, description, input }) => ({
      name,
      class: kind,
      description,
      input,
    }));
    this.#isKept = true;
    keepOffered(this.#place.task.room.sessionDir, tools);
    return tools;
  }

  async call(name: string, args: JsonObject, options: GateOptions = {}): Promise<GateAnswer> {
    if (this.#open >= MAX_OPEN) return refused(`${MAX_OPEN} calls have no answer yet: wait for one of them`);
    this.#open += 1;
    return this.#callOne(name, args, options).finally(() => {
      this.#open -= 1;
    });
  }

  async #callOne(name: string, args: JsonObject, options: GateOptions): Promise<GateAnswer> {
    const { session, newId, stop } = this.#place;
    const turn = session.state.openTurn?.turn;
    if (turn === undefined) return refused("no turn is open: tools can only be called during a turn");
    if (!this.#isKept) await this.#keepOwn();
    const tool = (await this.#tools(name)).find((one) => one.name === name);
    if (!tool) return this.#refuse(name, `${name} is not a tool of this task's lane`);
    const of = { turn, call: options.call ?? newId("call") };
    const intend = () => session.append("tool_called", { ...of, tool: name, args });
    const isSilent = !isActing(tool) && tool.class === "read" && tool.isSilent === true;
    let intent = isSilent ? undefined : intend();
    intent?.catch(() => {});
    // gate-2: a tool that only reads has no effect, and need not wait for the disk.
    if (tool.class !== "read") await intent;
    // The controller is held here. A signal of `AbortSignal.any` may be collected while it is waited for.
    const ending = new AbortController();
    const end = () => ending.abort();
    const ends = [stop, ...(options.signal ? [options.signal] : [])];
    for (const one of ends) one.aborted ? end() : one.addEventListener("abort", end, { once: true });
    const context: CallContext = { signal: ending.signal, progress: options.progress ?? (() => {}) };
    const answering = this.#answer(tool, args, { ...context, call: of.call }).finally(() => {
      for (const one of ends) one.removeEventListener("abort", end);
    });
    if (!intent) await endOrSoon(answering);
    // If the answer is there by now, call and outcome are recorded in one batch: both are queued at once.
    const settling = answering.then((answer) => this.#settle(of, answer));
    intent ??= intend();
    const [settled] = await Promise.all([settling, intent]);
    return settled;
  }

  /** Whether a call waits for the decision about this approval. */
  isAwaited(approval: string): boolean {
    return this.#asking.isAwaited(approval);
  }

  /** The agent has ended. */
  close(): void {
    this.#asking.close();
    this.#cutting.close();
  }

  settleBegun(): Promise<void> {
    return settleBegun(this.#place);
  }

  /** For a caller that lists no tools. A list has those of the servers too. */
  async #keepOwn(): Promise<void> {
    const tools = await this.#tools(NO_SERVER);
    if (!this.#isKept) keepOffered(this.#place.task.room.sessionDir, tools);
    this.#isKept = true;
  }

  /** gate-1: the tools of the lane only. */
  async #tools(name?: string): Promise<readonly Tool[]> {
    const { tools } = this.#place.task.lane;
    const all = await this.#place.tools(name);
    return all.filter((tool) => hasTool(tools, tool.class, tool.name));
  }

  async #answer(
    tool: Tool,
    args: JsonObject,
    context: CallContext & { readonly call: string },
  ): Promise<Answer> {
    try {
      const invalid = tool.isForeign ? undefined : await whyInvalid(tool, args);
      if (invalid !== undefined) return refused(invalid);
      const asks = this.#place.task.lane.tools.approval.includes(tool.class);
      if (asks || isActing(tool)) return await this.#asking.answer(tool, args, { ...context, asks });
      return await tool.run(args, context);
    } catch (error) {
      return failed(error);
    }
  }

  /** Resolves when the outcome is on disk. If the turn has ended meanwhile, the call is answered anyway. */
  async #settle(of: { readonly turn: number; readonly call: string }, answered: Answer): Promise<GateAnswer> {
    const { session } = this.#place;
    const { decided, ...answer } = answered;
    const { text } = answer;
    const isHeld = answered.outcome === "held";
    const outcome = isHeld ? "refused" : answered.outcome;
    // After a crash, this shows that the call was not decided.
    const facts = isHeld ? { ...answer.facts, is_held: true } : answer.facts;
    const output = this.#cutting.bounded(text);
    try {
      await Promise.all([
        session.append("tool_returned", { ...of, outcome, output, ...(facts && { facts }) }),
        ...(decided === undefined ? [] : [enterDecision(session, decided)]),
      ]);
    } catch (error) {
      if (!isHoldfastError(error) || !TOO_LATE.includes(error.code)) throw error;
    }
    return { ...answer, text: this.#cutting.cut(of.call, output) };
  }

  async #refuse(tool: string, reason: string): Promise<GateAnswer> {
    this.#refusals += 1;
    const name = tool.slice(0, 200);
    if (this.#refusals <= MAX_REFUSALS && name !== "")
      await this.#place.session.append("tool_refused", { tool: name, reason: reason.slice(0, 500) });
    return refused(reason);
  }
}

const refused = (text: string): ToolOutcome => ({ outcome: "refused", text });

/** Resolves when the work has ended, and soon in any case. */
function endOrSoon(work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, SOON_MS);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    work.then(end, end);
  });
}

function failed(error: unknown): ToolOutcome {
  if (error instanceof HoldfastError) {
    const { code, message } = error;
    return { outcome: code === "arguments_invalid" ? "refused" : "error", text: `${code}: ${message}` };
  }
  if (error instanceof Error && error.name === "AbortError")
    return { outcome: "error", text: "the call was cancelled, or took too long" };
  // The details of an internal error are not for the agent.
  process.stderr.write(`bug: ${error instanceof Error ? error.stack : String(error)}\n`);
  return {
    outcome: "error",
    text: "an internal error of Holdfast: it is not known whether the call had an effect",
  };
}
