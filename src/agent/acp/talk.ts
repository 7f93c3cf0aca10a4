/**
 * Owns the connection to an agent that speaks the Agent Client Protocol: the prompts that it gets, and its
 * updates, which become messages and calls of the open turn, in the order of their arrival.
 *
 * In this protocol the agent decides which tools it asks permission for. A call that it asks for is recorded
 * before its tool runs, and refused if the lane doesn't have it or no turn is open. Other calls are recorded when the agent
 * reports them. The sandbox enforces the lane.
 *
 * message-4 A message counts as read only when the agent has produced something in answer to it. The protocol
 *    has no ids for messages, so a message that the agent may have got before a crash is sent to it again.
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
  type StopReason,
} from "@agentclientprotocol/sdk";
import type { Json } from "../../contract/index.ts";
import type { AgentProcess, AgentTurn, Workplace } from "../adapter.ts";
import type { CutCalls } from "../cut-calls.ts";
import { endIfItStays } from "../leaving.ts";
import { Calls } from "./calls.ts";
import { whyNotKind } from "./kinds.ts";

const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** A longer text from the agent is recorded in parts. */
const MAX_SAID = 64 * 1024;
/**
 * An agent may send the history of a conversation after its answer, and the protocol does not mark the end.
 * The history counts as complete when nothing more has arrived for this long. The wait is limited.
 */
const HISTORY_QUIET_MS = 200;
const HISTORY_WAITS = 100;

/**
 * This is recorded, so that an agent that takes it for a person's refusal learns the reason when it
 * continues.
 */
const STOPPED = "the turn was ended before the call could run; you may make it again";

/** Nothing of it would be on record. */
const OUTSIDE = "no turn is open: a call can run only in a turn";

/** Updates that count as an answer. An agent may report its commands and modes at any time. */
const ANSWERING: readonly SessionUpdate["sessionUpdate"][] = [
  "user_message_chunk",
  "agent_message_chunk",
  "agent_thought_chunk",
  "tool_call",
  "tool_call_update",
  "plan",
];

/** A prompt for the agent; it may be a message from the inbox. */
export interface Input {
  readonly text: string;
  readonly message?: string;
}

interface Open {
  readonly turn: AgentTurn;
  readonly calls: Calls;
  /** Text that is not recorded yet. */
  said: string;
  /** The message that the agent was sent, until it has answered. */
  unheard?: string | undefined;
}

export class AcpTalk {
  readonly connection: ClientConnection;
  readonly #work: Workplace;
  readonly #process: AgentProcess;
  /** Undefined outside of a turn; what arrives then is repeated history. */
  #open: Open | undefined;
  readonly #cut: CutCalls;
  #conversation = "";
  #updates = 0;
  #recorded: Promise<void> = Promise.resolve();

  /** `output`: what the agent's process writes. `cut`: calls that it may make again. */
  constructor(work: Workplace, process: AgentProcess, output: PassThrough, cut: CutCalls) {
    this.#work = work;
    this.#cut = cut;
    this.#process = process;
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

  /** Prompts go to this conversation from now on. */
  holdConversation(id: string): void {
    this.#conversation = id;
  }

  /**
   * An agent that loads a conversation sends its history. It should do so before it answers, but some
   * continue after.
   */
  async historyTold(): Promise<void> {
    let before = -1;
    for (let wait = 0; wait < HISTORY_WAITS && before !== this.#updates; wait += 1) {
      before = this.#updates;
      await sleep(HISTORY_QUIET_MS, undefined, { signal: this.#work.stop });
    }
  }

  /** Begins a turn of its own, which stays open. Fails with `budget_reached` before the agent is asked. */
  async ask({ text, message }: Input): Promise<StopReason> {
    const turn = await this.#work.beginTurn({ prompt: text });
    this.#open = { turn, calls: new Calls(turn), said: "", unheard: message };
    const { stopReason } = await this.connection.agent.request(methods.agent.session.prompt, {
      sessionId: this.#conversation,
      prompt: [{ type: "text", text }],
    });
    await this.#queue(() => this.#heard());
    return stopReason;
  }

  /** The work is to stop: the agent is told, and ended if it does not leave. */
  cancel(): void {
    const sessionId = this.#conversation;
    if (sessionId === "") {
      this.#process.end();
      return;
    }
    this.connection.agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {});
    endIfItStays(this.#process, Promise.resolve());
  }

  /** Records everything that it sent, and closes all calls. Its process has ended, or is frozen. */
  async endTurn(how: "end" | "fail" | "interrupt"): Promise<void> {
    await this.#recorded.catch(() => {});
    const open = this.#open;
    if (!open) return;
    await this.#endSaying();
    await open.calls.close();
    this.#open = undefined;
    await open.turn[how]();
  }

  /** Resolves when everything that was read so far is recorded; fails if it can't be. */
  async caughtUp(): Promise<void> {
    // No fixed wait: everything that was read is delivered before this continues.
    await setImmediate();
    await this.#recorded;
  }

  /** Runs the steps one after another: the protocol's library delivers messages without waiting. */
  #queue(step: () => Promise<void>): Promise<void> {
    this.#recorded = this.#recorded.then(step);
    // If recording fails, the agent must not go on.
    this.#recorded.catch(() => this.#process.end());
    return this.#recorded;
  }

  async #note(update: SessionUpdate): Promise<void> {
    const open = this.#open;
    if (!open) return;
    if (ANSWERING.includes(update.sessionUpdate)) await this.#heard();
    if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") {
      this.#work.show(update.content.text);
      open.said += update.content.text;
      if (open.said.length > MAX_SAID) await this.#endSaying();
    } else if (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update") {
      const { sessionUpdate: _, toolCallId: id, ...told } = update;
      if (open.calls.isNews(id, told)) await this.#endSaying();
      await open.calls.tell(id, told);
    }
  }

  async #heard(): Promise<void> {
    const message = this.#open?.unheard;
    if (message === undefined) return;
    await this.#work.messages.entered(message);
    if (this.#open) this.#open.unheard = undefined;
  }

  async #endSaying(): Promise<void> {
    const open = this.#open;
    const text = open?.said ?? "";
    if (!open || text.trim() === "") return;
    open.said = "";
    this.#work.show("\n");
    await open.turn.addMessage("assistant", text);
  }

  /** Allows what its lane has. The permission is for one call; each call is asked for again. */
  async #permit({ options, toolCall }: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    const { toolCallId: id, ...told } = toolCall;
    const isStopped = this.#work.stop.aborted;
    let refusal: string | undefined;
    await this.#queue(async () => {
      const open = this.#open;
      await this.#heard();
      await this.#endSaying();
      const whyNot = (kind: typeof told.kind, args: Json) =>
        isStopped ? STOPPED : (whyNotKind(kind, this.#work.tools) ?? this.#cut.whyNot(args));
      refusal = open ? await open.calls.ask(id, told, whyNot) : OUTSIDE;
    });
    if (isStopped) return { outcome: { outcome: "cancelled" } };
    const wanted = refusal === undefined ? "allow_once" : "reject_once";
    const option = options.find(({ kind }) => kind === wanted);
    return {
      outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" },
    };
  }
}
