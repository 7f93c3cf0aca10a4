/**
 * Owns the dialogue with Claude Code while its process runs: it begins and ends turns, records each tool
 * before it runs, and passes on messages from the inbox in the middle of the work.
 *
 * tool-call-1 A tool runs only after its call is on disk: the agent asks before each tool, and is answered
 *    then.
 * message-3 A message counts as read only when the agent confirms that it has taken it in. A message that may
 *    have been taken in before a crash is sent again under the same id, which the agent recognizes.
 */
import type { Json, JsonObject } from "../../contract/index.ts";
import type { ToolCall } from "../../session/index.ts";
import { sha256Hex } from "../../util/index.ts";
import type { AgentProcess, AgentTurn, Message, Workplace } from "../adapter.ts";
import type { CutCalls } from "../cut-calls.ts";
import { answerTo, type Block, INITIALIZE, questionIn, type Said, saidIn, userMessage } from "./protocol.ts";
import { isOfGate, whyNotTool } from "./tools.ts";

/** `open`: the call is recorded and has no result yet. */
interface Called {
  readonly tool: string;
  readonly args: Json;
  readonly open?: ToolCall;
}

interface Handed {
  readonly message: Message;
  readonly taken: PromiseWithResolvers<void>;
}

/** tool-call-1: nothing of it would be on record. */
const OUTSIDE = "no turn is open: a call can run only in a turn";

/** A wait for a message is renewed after this time, because none may ever come. */
const LISTEN_MS = 60_000;

export class Dialogue {
  readonly #work: Workplace;
  readonly #calls = new Map<string, Called>();
  /** Messages that were sent and not taken in yet, by the ids that the agent knows. */
  readonly #handed = new Map<string, Handed>();
  readonly #over = new AbortController();
  #process: AgentProcess | undefined;
  #turn: AgentTurn | undefined;
  readonly #cut: CutCalls;
  /** What the agent reported: that it began, and how its last turn ended. */
  #told: { readonly hasBegun: boolean; readonly last?: { readonly isError: boolean } } = { hasBegun: false };

  /** `cut`: calls that it may make again. */
  constructor(work: Workplace, cut: CutCalls) {
    this.#work = work;
    this.#cut = cut;
  }

  /** Whether the agent began its conversation. */
  get hasBegun(): boolean {
    return this.#told.hasBegun;
  }

  /** Whether it reported how its last turn ended. */
  get hasAnswered(): boolean {
    return this.#told.last !== undefined;
  }

  get outcome(): "done" | "failed" {
    return this.#told.last?.isError === false ? "done" : "failed";
  }

  /** Resolves when it gets no more input. */
  get whenOver(): Promise<void> {
    const { signal } = this.#over;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  }

  /** Sends the first text; without one, a waiting message is the first. */
  async open(process: AgentProcess, text: string): Promise<void> {
    this.#process = process;
    // The process may end while it is written to; its end is handled elsewhere.
    process.input?.on("error", () => {});
    this.#tell(INITIALIZE);
    if (text !== "") {
      this.#turn = await this.#work.beginTurn({ prompt: text });
      this.#tell(userMessage(uuidOf(`${this.#work.id} ${this.#turn.number}`), text));
    } else if (!(await this.#work.messages.next(0, this.#over.signal))) {
      // The message that it was woken for was read meanwhile.
      this.#told = { hasBegun: true, last: { isError: false } };
      return this.#end();
    }
    this.#listen().catch(() => this.#end());
  }

  async receive(message: JsonObject): Promise<void> {
    const said = saidIn(message);
    if (!said) return;
    if (said.type === "system" && said.subtype === "init") this.#told = { ...this.#told, hasBegun: true };
    else if (said.type === "control_request") await this.#answer(said);
    else if (said.type === "assistant") await this.#say(said);
    else if (said.type === "stream_event") this.#show(said);
    else if (said.type === "user") await this.#hear(said);
    else if (said.type === "result") await this.#result(said);
  }

  /** Call it when the process has ended and all of its output was received. */
  async close(isStopped: boolean): Promise<void> {
    this.#end();
    const isDone = this.#told.last?.isError === false;
    await this.#endTurn(isStopped && !isDone ? "interrupt" : isDone ? "end" : "fail");
  }

  async #endTurn(how: "end" | "fail" | "interrupt"): Promise<void> {
    const turn = this.#turn;
    this.#turn = undefined;
    // For calls whose result was never reported.
    for (const { open } of this.#calls.values()) await open?.interrupted("the agent reported no result");
    this.#calls.clear();
    await turn?.[how]();
  }

  #tell(message: object): void {
    const input = this.#process?.input;
    if (input?.writable) input.write(`${JSON.stringify(message)}\n`);
  }

  async #answer({ request_id: id, request }: Extract<Said, { type: "control_request" }>): Promise<void> {
    const question = questionIn(request);
    if (!question) return;
    const { call: name, tool, args } = question;
    const turn = this.#turn;
    const refusal = turn ? (whyNotTool(tool, this.#work.tools) ?? this.#cut.whyNot(args)) : OUTSIDE;
    if (turn && !isOfGate(tool) && !this.#calls.get(name)?.open) {
      const call = await turn.callTool(tool, args, { call: name });
      if (refusal === undefined) this.#calls.set(name, { tool, args, open: call });
      else {
        await call.refused(refusal);
        this.#calls.delete(name);
      }
    }
    this.#tell(answerTo(id, request, refusal));
  }

  async #say({ message, parent_tool_use_id: parent }: Extract<Said, { type: "assistant" }>): Promise<void> {
    for (const block of message.content) {
      if (isCall(block) && !isOfGate(block.name) && !this.#calls.has(block.id))
        this.#calls.set(block.id, { tool: block.name, args: block.input });
      // Messages of a subagent are for the agent that started it.
      if (isText(block) && block.text !== "" && !parent)
        await this.#turn?.addMessage("assistant", block.text);
    }
  }

  #show({ event, parent_tool_use_id: parent }: Extract<Said, { type: "stream_event" }>): void {
    if (parent) return;
    if (event.type === "content_block_delta" && event.delta?.type === "text_delta")
      this.#work.show(event.delta.text ?? "");
    if (event.type === "message_stop") this.#work.show("\n");
  }

  /** Results of tools arrive as input of the user, and so do messages that the agent has taken in. */
  async #hear({ message, uuid = "", isReplay }: Extract<Said, { type: "user" }>): Promise<void> {
    const taken = this.#handed.get(uuid);
    if (isReplay && taken) await this.#takeIn(uuid, taken);
    if (typeof message.content === "string") return;
    for (const block of message.content) if (isResult(block)) await this.#settle(block);
  }

  async #settle({
    tool_use_id: name,
    content,
    is_error: isError,
  }: Extract<Block, { type: "tool_result" }>): Promise<void> {
    const called = this.#calls.get(name);
    this.#calls.delete(name);
    // The agent never asked for a call that it refused by itself.
    const call =
      called?.open ?? (called && (await this.#turn?.callTool(called.tool, called.args, { call: name })));
    const output = content ?? "";
    await (isError ? call?.failed(output) : call?.returned(output));
  }

  async #takeIn(uuid: string, { message: { message, from, text }, taken }: Handed): Promise<void> {
    if (this.#turn) await this.#turn.addMessage("user", { from, text });
    // It was just being ended, because no turn is left.
    else if (this.#over.signal.aborted) return;
    else this.#turn = await this.#work.beginTurn({ message: text, from });
    await this.#work.messages.entered(message);
    this.#handed.delete(uuid);
    taken.resolve();
  }

  async #result(result: Extract<Said, { type: "result" }>): Promise<void> {
    const isError = result.is_error === true || result.subtype !== "success";
    this.#told = { hasBegun: true, last: { isError } };
    if (isError) this.#work.show(`${result.result ?? result.subtype}\n`);
    // The turn ends with the process, so that nothing writes while the files are saved.
    if (this.#handed.size === 0 || isError) return this.#end();
    // The agent goes on with a message that it has not taken in yet.
    const turn = this.#turn;
    const isSpent = () => (turn?.budgetLeft().reached ?? []).length > 0;
    this.#process?.freeze();
    // If the budget has no turn left for the message, the agent is ended before it takes it in.
    await this.#endTurn("end").finally(() => (isSpent() ? this.#process?.end() : this.#process?.thaw()));
    if (isSpent()) return this.#end();
    this.#told = { hasBegun: true };
  }

  /** Sends one message at a time: the next one when this one was taken in. */
  async #listen(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      const message = await this.#work.messages.next(LISTEN_MS, signal);
      if (!message || signal.aborted) continue;
      const uuid = uuidOf(message.message);
      const taken = Promise.withResolvers<void>();
      this.#handed.set(uuid, { message, taken });
      this.#tell(userMessage(uuid, `Message from ${message.from}:\n\n${message.text}`));
      await taken.promise;
    }
  }

  /** Closes its input. The agent ends when it has read everything. */
  #end(): void {
    this.#over.abort();
    this.#process?.input?.end();
    for (const { taken } of this.#handed.values()) taken.resolve();
  }
}

const isText = (block: Block): block is Extract<Block, { type: "text" }> =>
  block.type === "text" && typeof block["text"] === "string";
const isCall = (block: Block): block is Extract<Block, { type: "tool_use" }> =>
  block.type === "tool_use" && typeof block["id"] === "string" && typeof block["name"] === "string";
const isResult = (block: Block): block is Extract<Block, { type: "tool_result" }> =>
  block.type === "tool_result" && typeof block["tool_use_id"] === "string";

/** An id in the form that the agent needs; the same text gets the same id. */
function uuidOf(text: string): string {
  const hex = sha256Hex(text);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}
