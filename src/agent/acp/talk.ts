/**
 * Owns the connection to an agent that speaks the Agent Client Protocol: what it is asked, and what it says, which
 * becomes messages and calls of the turn that is open, in the order in which it came.
 *
 * The protocol leaves it to the agent which tools it asks for. A call that it asks for is on record before its tool runs,
 * and refused where the lane doesn't have it; of others it tells while they run. What holds the agent to its lane is the
 * sandbox.
 *
 * Y16 A message counts as read when the agent has said something in answer to it, and never before. The protocol has no
 *     ids for messages: one that it may have heard before a crash is told to it again.
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
import type { AgentProcess, AgentTurn, Workplace } from "../adapter.ts";
import { endIfItStays } from "../leaving.ts";
import { Calls } from "./calls.ts";
import { whyNotKind } from "./kinds.ts";

const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** What it says without an end is recorded in parts. */
const MAX_SAID = 64 * 1024;
/**
 * Nothing in the protocol tells the end of a history that comes after the answer: it is over when nothing more of it came
 * for so long. It is not waited for more often than that.
 */
const HISTORY_QUIET_MS = 200;
const HISTORY_WAITS = 100;

/** What tells of an answer. An agent may tell of its commands and modes at any time. */
const ANSWERING: readonly SessionUpdate["sessionUpdate"][] = [
  "user_message_chunk",
  "agent_message_chunk",
  "agent_thought_chunk",
  "tool_call",
  "tool_call_update",
  "plan",
];

/** What the agent is asked: a text, which may be a message from the inbox. */
export interface Input {
  readonly text: string;
  readonly message?: string;
}

interface Open {
  readonly turn: AgentTurn;
  readonly calls: Calls;
  /** Not on record yet. */
  said: string;
  /** The message that it was told, until it has heard it. */
  unheard?: string | undefined;
}

export class AcpTalk {
  readonly connection: ClientConnection;
  readonly #work: Workplace;
  readonly #process: AgentProcess;
  /** What it says outside of a turn is history that it repeats. */
  #open: Open | undefined;
  #conversation = "";
  #updates = 0;
  #recorded: Promise<void> = Promise.resolve();

  /** `output`: what the agent's process writes. */
  constructor(work: Workplace, process: AgentProcess, output: PassThrough) {
    this.#work = work;
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

  /** From now on it is asked in this one. */
  holdConversation(id: string): void {
    this.#conversation = id;
  }

  /** An agent that loads a conversation tells its history. It should have before it answers, but some go on after. */
  async historyTold(): Promise<void> {
    let before = -1;
    for (let wait = 0; wait < HISTORY_WAITS && before !== this.#updates; wait += 1) {
      before = this.#updates;
      await sleep(HISTORY_QUIET_MS, undefined, { signal: this.#work.stop });
    }
  }

  /** In a turn of its own, which is open after this. */
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

  /** The work is to stop: the agent is told so, and ended if it stays all the same. */
  cancel(): void {
    const sessionId = this.#conversation;
    if (sessionId === "") {
      this.#process.end();
      return;
    }
    this.connection.agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {});
    endIfItStays(this.#process, Promise.resolve());
  }

  /** With all that it said on record, and no call open. The process is gone, or stands still. */
  async endTurn(how: "end" | "fail" | "interrupt"): Promise<void> {
    await this.#recorded.catch(() => {});
    const open = this.#open;
    if (!open) return;
    await this.#endSaying();
    await open.calls.close();
    this.#open = undefined;
    await open.turn[how]();
  }

  /** Resolves when what was read of it up to now is on record; fails where it can't be. */
  async caughtUp(): Promise<void> {
    // No time is waited for: what was read is handed out before this comes back.
    await setImmediate();
    await this.#recorded;
  }

  /** One after the other: the protocol's library hands messages out without waiting. */
  #queue(step: () => Promise<void>): Promise<void> {
    this.#recorded = this.#recorded.then(step);
    // What can't be recorded must not go on.
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

  /** What its lane has, once, each time. */
  async #permit({ options, toolCall }: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    if (this.#work.stop.aborted) return { outcome: { outcome: "cancelled" } };
    const { toolCallId: id, ...told } = toolCall;
    let refusal: string | undefined;
    await this.#queue(async () => {
      const open = this.#open;
      await this.#heard();
      await this.#endSaying();
      refusal = await open?.calls.ask(id, told, (kind) => whyNotKind(kind, this.#work.tools));
    });
    const wanted = refusal === undefined ? "allow_once" : "reject_once";
    const option = options.find(({ kind }) => kind === wanted);
    return {
      outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" },
    };
  }
}
