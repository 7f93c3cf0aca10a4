/**
 * A gate over the built-in tools of a test's task: each call is on record as at the real gate. A test can
 * hold calls, and cut one off.
 */
import type { GateAnswer, GateCall, ToolGate } from "../../src/agent/index.ts";
import type { JsonObject } from "../../src/contract/index.ts";
import type { ToolHome } from "./tools.ts";

export class TestGate implements ToolGate {
  readonly #home: ToolHome;
  /** What was really called, in order. */
  readonly called: string[] = [];
  /** Calls that a person has not decided about. */
  readonly held = new Set<string>();
  /**
   * The call that fails after its effect, instead of answering: to the next process it looks like a crash.
   */
  cutAt: string | undefined;

  constructor(home: ToolHome) {
    this.#home = home;
  }

  async list() {
    return this.#home.tools;
  }

  access(): never {
    throw new Error("no agent of these tests speaks MCP");
  }

  async call(tool: string, args: JsonObject, { call = "", signal }: GateCall = {}): Promise<GateAnswer> {
    const { session } = this.#home;
    const turn = session.state.openTurn?.turn ?? 0;
    await session.append("tool_called", { turn, call, tool, args });
    if (this.held.has(call)) {
      const facts = { is_held: true };
      const returned = { turn, call, outcome: "refused" as const, output: "held", facts };
      await session.append("tool_returned", returned);
      return { outcome: "held", text: `${tool} waits for a person` };
    }
    this.called.push(`${call} ${tool}`);
    const isKnown = this.#home.tools.some(({ name }) => name === tool);
    const answer: GateAnswer = isKnown
      ? await this.#home.call(tool, args, signal)
      : { outcome: "refused", text: `the lane has no tool ${tool}` };
    if (this.cutAt === call) throw new Error("cut off");
    const { outcome, text: output, facts } = answer;
    if (outcome === "held") throw new Error("no tool holds a call");
    // A result that comes after the end of its turn is too late to be recorded.
    const late = session.state.openTurn?.turn !== turn;
    if (!late)
      await session.append("tool_returned", { turn, call, outcome, output, ...(facts && { facts }) });
    return answer;
  }
}
