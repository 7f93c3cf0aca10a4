/**
 * Owns the conversation as a model is given it: messages in their roles, each call of a tool with its result, and the
 * messages of the inbox where they entered the context. The turn that is open is part of it.
 *
 * conversation-1 Each result follows the message with its call, and before any other message; a call without a result
 *    is left out.
 */
import type { JournalRecord, Json } from "../contract/index.ts";
import { textIn } from "./fold/fields.ts";
import { isInHistory, type SessionState } from "./state.ts";

/** What a model, a person or the system said. */
export interface SpokenMessage {
  readonly role: "user" | "system";
  /** The text, or any JSON that was given as input. */
  readonly content: Json;
  /** Who sent it, for a message of the session's inbox: `user:ani`, or the id of a session. */
  readonly from?: string;
}

/** What the model said in one answer: texts, calls, or both. */
export interface AnswerMessage {
  readonly role: "assistant";
  /** The texts of the answer, in order. */
  readonly content: readonly Json[];
  /** The calls of the answer, in order. */
  readonly calls: readonly { readonly call: string; readonly tool: string; readonly args: Json }[];
}

/** The results of all calls of the answer before it, in the order of the calls. */
export interface ResultsMessage {
  readonly role: "tool";
  /** One result for each call. */
  readonly results: readonly {
    readonly call: string;
    readonly tool: string;
    /** `ok`, `error`, `refused` or `interrupted`. */
    readonly outcome: string;
    readonly output: Json;
  }[];
}

/** One message of a conversation. */
export type ModelMessage = SpokenMessage | AnswerMessage | ResultsMessage;

export async function conversationOf(
  records: AsyncIterable<JournalRecord>,
  state: Pick<SessionState, "history">,
): Promise<ModelMessage[]> {
  const conversation = new Conversation();
  const received = new Map<string, SpokenMessage>();
  let isPart = false;
  for await (const { type, data } of records) {
    if (type === "message_received") {
      const { message, from, text = null } = data;
      received.set(textIn(message), { role: "user", content: text, from: textIn(from) });
    } else if (type === "turn_started") {
      isPart = isInHistory(state, Number(data["turn"]));
      if (isPart) conversation.speak({ role: "user", content: data["input"] ?? null });
    } else if (type === "message_entered_context") {
      const message = received.get(textIn(data["message"]));
      received.delete(textIn(data["message"]));
      // Between two turns, it is part of what the next one is about.
      if (message && (isPart || data["turn"] === undefined)) conversation.speak(message);
    } else if (!isPart) {
      // A turn that a rewind has left behind.
    } else if (type === "message_added") {
      const content = data["content"] ?? null;
      const role = textIn(data["role"]);
      if (role === "assistant") conversation.say(content);
      else conversation.speak({ role: role === "system" ? "system" : "user", content });
    } else if (type === "tool_called") {
      const { call, tool, args = null } = data;
      conversation.call({ call: textIn(call), tool: textIn(tool), args });
    } else if (type === "tool_returned") {
      conversation.settle(textIn(data["call"]), textIn(data["outcome"]), data["output"] ?? null);
    } else if (type === "turn_ended") conversation.endAnswer();
  }
  return conversation.messages();
}

type Call = AnswerMessage["calls"][number];
type Result = ResultsMessage["results"][number];

/** One answer of the model, while its results come in. */
interface Answer {
  readonly content: Json[];
  readonly calls: Call[];
  readonly results: Map<string, Result>;
  /** What was said to the model in between: it comes after the results. */
  readonly later: SpokenMessage[];
}

class Conversation {
  readonly #done: ModelMessage[] = [];
  #answer: Answer | undefined;

  speak(message: SpokenMessage): void {
    if (this.#answer && this.#isWaiting(this.#answer)) this.#answer.later.push(message);
    else {
      this.endAnswer();
      this.#done.push(message);
    }
  }

  say(content: Json): void {
    this.#answerNow().content.push(content);
  }

  call(call: Call): void {
    this.#answerNow().calls.push(call);
  }

  settle(call: string, outcome: string, output: Json): void {
    const tool = this.#answer?.calls.find((one) => one.call === call)?.tool;
    if (tool !== undefined) this.#answer?.results.set(call, { call, tool, outcome, output });
  }

  endAnswer(): void {
    if (!this.#answer) return;
    const { content, calls, results, later } = this.#answer;
    this.#answer = undefined;
    const settled = calls.flatMap((one) => results.get(one.call) ?? []);
    const kept = calls.filter((one) => results.has(one.call));
    if (content.length > 0 || kept.length > 0) this.#done.push({ role: "assistant", content, calls: kept });
    if (settled.length > 0) this.#done.push({ role: "tool", results: settled });
    this.#done.push(...later);
  }

  messages(): ModelMessage[] {
    this.endAnswer();
    return this.#done;
  }

  /** The model goes on in the same answer until all of its calls have their results. */
  #answerNow(): Answer {
    if (this.#answer && this.#answer.results.size > 0 && !this.#isWaiting(this.#answer)) this.endAnswer();
    this.#answer ??= { content: [], calls: [], results: new Map(), later: [] };
    return this.#answer;
  }

  #isWaiting({ calls, results }: Answer): boolean {
    return results.size < calls.length;
  }
}
