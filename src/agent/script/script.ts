/**
 * Owns the adapter for scripts: the steps of a file. Each step calls a tool through the session's gate, shows
 * a message, or waits for one. The whole script is one turn.
 *
 * script-1 A step whose call has a recorded outcome is never run again: the id of a call is made from the
 *    number of its step. After a crash, a pause or a park the recorded outcome is used, in variables too.
 *
 * What a kill leaves: an open turn, whose open call the session's next owner closes as interrupted. If the
 * call had begun an action, its recorded outcome is that of the step. Otherwise it is not known whether the
 * call had its effect: the step runs again, and a note tells so, unless it has `on_cut: fail`.
 */
import { isHoldfastError, type JsonObject, type ScriptSpec } from "../../contract/index.ts";
import { printable } from "../../util/index.ts";
import type { AgentEnd, AgentTurn, CutCall, Message, SettledCall, Workplace } from "../adapter.ts";
import { whyNot } from "./expecting.ts";
import { parseScript, type Script, type Step } from "./form.ts";
import { filled, filledText, NoSuchValue, type Result, type Values } from "./variables.ts";

const DONE: AgentEnd = { outcome: "done", exitCode: 0, signal: null };
const FAILED: AgentEnd = { outcome: "failed", exitCode: 1, signal: null };
const STOPPED: AgentEnd = { outcome: "stopped", exitCode: null, signal: null };
const TAIL_LENGTH = 2000;

/** A call that waits for a person, and the requests that it waits for. */
interface Held {
  readonly tool: string;
  readonly requests: readonly string[];
  readonly isQuestion: boolean;
}

/** How a step ended. `next`: the script continues with the next step. */
type StepEnd = "next" | "failed" | "stopped" | Held;

export async function driveScript(work: Workplace, spec: ScriptSpec): Promise<AgentEnd> {
  const script = await parseScript(spec.script, spec.vars).catch((error: unknown) => {
    if (!isHoldfastError(error, "script_invalid")) throw error;
    work.show(`${printable(error.message)}\n`);
    return undefined;
  });
  await using turn = await work.beginTurn({ script: spec.script, vars: spec.vars });
  // A call that runs when a person stops the script has no outcome, so it is made again.
  const onStop = () => void turn.interrupt().catch(() => {});
  work.stop.addEventListener("abort", onStop, { once: true });
  try {
    const end = script ? await runSteps(work, turn, script) : "failed";
    if (end === "stopped") return STOPPED;
    if (typeof end === "object") {
      await turn.end();
      const { tool, requests, isQuestion } = end;
      const reason = isQuestion ? "answer" : "approval";
      return { outcome: "parked", parked: { reason, detail: [tool, ...requests].join(", "), requests } };
    }
    await (end === "next" ? turn.end() : turn.fail());
    return end === "next" ? DONE : FAILED;
  } finally {
    work.stop.removeEventListener("abort", onStop);
  }
}

async function runSteps(work: Workplace, turn: AgentTurn, { vars, steps }: Script): Promise<StepEnd> {
  const settled = work.isGoingOn ? await work.settledCalls() : new Map<string, SettledCall>();
  const values: Values = new Map(Object.entries(vars));
  const lastSettled = steps.findLastIndex((_, at) => settled.has(callOf(at)));
  const cut = new Set((work.isGoingOn ? await work.cutCalls() : []).filter(isOpen).map(({ call }) => call));
  for (const [at, step] of steps.entries()) {
    if (work.stop.aborted) return "stopped";
    const before = settled.get(callOf(at));
    const running = new RunningStep({
      work,
      turn,
      at,
      count: steps.length,
      values,
      isCut: cut.has(callOf(at)),
    });
    const end = before
      ? await running.again(step, before)
      : at < lastSettled
        ? "next"
        : await running.run(step);
    if (end !== "next") return end;
  }
  return "next";
}

const callOf = (at: number) => `step-${at + 1}`;

const isOpen = ({ outcome }: CutCall) => outcome === "interrupted";

interface Around {
  readonly work: Workplace;
  readonly turn: AgentTurn;
  readonly at: number;
  readonly count: number;
  readonly values: Values;
  /** Whether its call was cut off before. */
  readonly isCut: boolean;
}

class RunningStep {
  readonly #around: Around;

  constructor(around: Around) {
    this.#around = around;
  }

  async run(step: Step): Promise<StepEnd> {
    const { work, isCut, at } = this.#around;
    const kind = step.tool ?? "wait_message";
    if (isCut && step.on_cut === "fail") return this.#failed(step, `${kind} was cut off, and on_cut is fail`);
    if (isCut)
      this.#show(`${kind} was cut off, and it is not known whether it had its effect: it runs again`);
    try {
      if (step.say !== undefined) return await this.#say(step.say);
      if (step.wait_message) return await this.#wait(step, step.wait_message.seconds);
      const args = filled(step.with ?? {}, this.#around.values) as JsonObject;
      const answer = await work.gate.call(kind, args, { call: callOf(at), signal: work.stop });
      if (work.stop.aborted) return "stopped";
      const facts = answer.facts ?? {};
      if (answer.outcome === "held" || facts["is_held"] === true)
        return { tool: kind, requests: requestsIn(facts), isQuestion: answer.outcome !== "held" };
      return await this.#judge(step, { outcome: answer.outcome, text: answer.text, facts });
    } catch (error) {
      if (work.stop.aborted) return "stopped";
      if (!(error instanceof NoSuchValue)) throw error;
      return this.#failed(step, error.message);
    }
  }

  /** Uses the recorded outcome. */
  again(step: Step, { outcome, output, facts = {} }: SettledCall): Promise<StepEnd> {
    const text = typeof output === "string" ? output : JSON.stringify(output);
    return this.#judge(step, { outcome, text, facts }, ", as before");
  }

  async #judge(step: Step, result: Result, how = ""): Promise<StepEnd> {
    const { values } = this.#around;
    if (step.as !== undefined) values.set(step.as, result);
    const reason = this.#whyNot(step, result);
    const kind = step.tool ?? "wait_message";
    if (reason === undefined) {
      this.#show(`${kind}: ${result.outcome}${how}`);
      return "next";
    }
    return this.#failed(step, `${kind}: ${reason}${how}`, result.text);
  }

  #whyNot(step: Step, result: Result): string | undefined {
    try {
      return whyNot(result, step.expect, this.#around.values);
    } catch (error) {
      if (error instanceof NoSuchValue) return error.message;
      throw error;
    }
  }

  async #failed({ on_failure: follow = "stop" }: Step, reason: string, text = ""): Promise<StepEnd> {
    this.#show(reason);
    const tail = text.slice(-TAIL_LENGTH).trimEnd();
    if (tail !== "") this.#around.work.show(`${tail.split("\n").map(printable).join("\n")}\n`);
    if (follow === "continue") return "next";
    if (typeof follow === "object") await this.#say(follow.say).catch(notWithoutResult);
    return "failed";
  }

  async #say(source: string): Promise<StepEnd> {
    const { turn, work, values } = this.#around;
    const text = String(filledText(source, values));
    await turn.addMessage("assistant", text);
    work.show(`${text.split("\n").map(printable).join("\n")}\n`);
    return "next";
  }

  /** Recorded as a call, so a message that came is not waited for again. */
  async #wait(step: Step, seconds: number): Promise<StepEnd> {
    const { turn, work, at } = this.#around;
    const call = await turn.callTool("wait_message", { seconds }, { call: callOf(at) });
    const message = await this.#message(seconds * 1000);
    if (work.stop.aborted) return "stopped";
    const text = message?.text ?? `no message came within ${seconds} s`;
    await (message ? call.returned(text) : call.failed(text));
    if (message) await work.messages.entered(message.message);
    return this.#judge(step, { outcome: message ? "ok" : "error", text, facts: {} });
  }

  /** What a person decided is the outcome of the call that asked, and no message to the script. */
  async #message(waitMs: number): Promise<Message | undefined> {
    const { messages, stop } = this.#around.work;
    for (;;) {
      const message = await messages.next(waitMs, stop);
      if (message?.about === undefined) return message;
      await messages.entered(message.message);
    }
  }

  #show(text: string): void {
    const { work, at, count } = this.#around;
    work.show(`[${at + 1}/${count}] ${printable(text)}\n`);
  }
}

/** The text about a failure may name the step's result, which does not exist. */
function notWithoutResult(error: unknown): void {
  if (!(error instanceof NoSuchValue)) throw error;
}

const requestsIn = ({ approval, question }: JsonObject) =>
  [approval, question].filter((one) => typeof one === "string");
