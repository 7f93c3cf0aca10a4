/**
 * Owns the forms in which providers take a conversation: Anthropic Messages, OpenAI chat completions, and the AI SDK's
 * model messages. Content that is not text goes in as its JSON text.
 */
import type { Json } from "../contract/index.ts";
import type { AnswerMessage, ModelMessage, ResultsMessage } from "./conversation.ts";

/** A conversation for the Messages API of Anthropic. */
export interface AnthropicConversation {
  /** The system prompt, if there is one. */
  readonly system?: string;
  /** The messages, in which the roles take turns. */
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: AnthropicBlock[] }[];
}

/** One block of an Anthropic message. */
export type AnthropicBlock =
  /** A text. */
  | { readonly type: "text"; readonly text: string }
  /** A call of a tool. */
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: Json }
  /** The result of a call. */
  | {
      readonly type: "tool_result";
      readonly tool_use_id: string;
      readonly content: string;
      readonly is_error?: true;
    };

/** One message for the chat completions API of OpenAI. */
export type OpenAiMessage =
  /** What the system or the user says. */
  | { readonly role: "system" | "user"; readonly content: string }
  /** The result of a call. */
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string }
  /** What the model says, with its calls. */
  | {
      readonly role: "assistant";
      readonly content: string | null;
      readonly tool_calls?: readonly {
        readonly id: string;
        readonly type: "function";
        readonly function: { readonly name: string; readonly arguments: string };
      }[];
    };

/** One model message of the AI SDK. */
export type AiSdkMessage =
  /** What the system says. */
  | { readonly role: "system"; readonly content: string }
  /** What the user says. */
  | { readonly role: "user"; readonly content: readonly { readonly type: "text"; readonly text: string }[] }
  /** What the model says, with its calls. */
  | { readonly role: "assistant"; readonly content: readonly AiSdkAnswerPart[] }
  /** The results of its calls. */
  | { readonly role: "tool"; readonly content: readonly AiSdkResultPart[] };

/** One part of an answer, as the AI SDK has it. */
export type AiSdkAnswerPart =
  /** A text. */
  | { readonly type: "text"; readonly text: string }
  /** A call of a tool. */
  | {
      readonly type: "tool-call";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: Json;
    };

/** The result of one call, as the AI SDK has it. */
export interface AiSdkResultPart {
  readonly type: "tool-result";
  /** The id of the call. */
  readonly toolCallId: string;
  /** The name of the tool. */
  readonly toolName: string;
  /** What the call returned. */
  readonly output: { readonly type: "text" | "error-text"; readonly value: string };
}

export function anthropicForm(conversation: readonly ModelMessage[]): AnthropicConversation {
  const ids = new CallIds();
  const system: string[] = [];
  const messages: { role: "user" | "assistant"; content: AnthropicBlock[] }[] = [];
  const add = (role: "user" | "assistant", blocks: AnthropicBlock[]) => {
    const last = messages.at(-1);
    // The roles take turns.
    if (last?.role === role) last.content.push(...blocks);
    else if (blocks.length > 0) messages.push({ role, content: blocks });
  };
  for (const message of conversation) {
    if (message.role === "assistant") {
      const calls = message.calls.map(({ call, tool, args }) => ({
        ...{ type: "tool_use" as const, id: ids.begin(call), name: tool, input: args },
      }));
      add("assistant", [...textBlocks(message.content), ...calls]);
    } else if (message.role === "tool") {
      const results = message.results.map(({ call, outcome, output }) => ({
        ...{ type: "tool_result" as const, tool_use_id: ids.of(call), content: textOf(output) },
        ...(outcome !== "ok" && { is_error: true as const }),
      }));
      add("user", results);
    } else if (message.role === "system") system.push(textOf(message.content));
    else add("user", textBlocks([message.content]));
  }
  return { ...(system.length > 0 && { system: system.join("\n\n") }), messages };
}

export function openAiForm(conversation: readonly ModelMessage[]): OpenAiMessage[] {
  const ids = new CallIds();
  return conversation.flatMap((message): OpenAiMessage[] => {
    if (message.role === "tool")
      return message.results.map(({ call, output }) => ({
        ...{ role: "tool" as const, tool_call_id: ids.of(call), content: textOf(output) },
      }));
    if (message.role !== "assistant") return [{ role: message.role, content: textOf(message.content) }];
    const calls = message.calls.map(({ call, tool, args }) => ({
      ...{ id: ids.begin(call), type: "function" as const },
      function: { name: tool, arguments: JSON.stringify(args) },
    }));
    const content = message.content.length > 0 ? message.content.map(textOf).join("\n\n") : null;
    return [{ role: "assistant", content, ...(calls.length > 0 && { tool_calls: calls }) }];
  });
}

export function aiSdkForm(conversation: readonly ModelMessage[]): AiSdkMessage[] {
  const ids = new CallIds();
  return conversation.map((message): AiSdkMessage => {
    if (message.role === "assistant") return aiSdkAnswer(message, ids);
    if (message.role === "tool") return aiSdkResults(message, ids);
    if (message.role === "system") return { role: "system", content: textOf(message.content) };
    return { role: "user", content: textBlocks([message.content]) };
  });
}

const aiSdkResults = ({ results }: ResultsMessage, ids: CallIds): AiSdkMessage => ({
  role: "tool",
  content: results.map(({ call, tool, outcome, output }) => ({
    ...{ type: "tool-result" as const, toolCallId: ids.of(call), toolName: tool },
    output: { type: outcome === "ok" ? ("text" as const) : ("error-text" as const), value: textOf(output) },
  })),
});

const aiSdkAnswer = ({ content, calls }: AnswerMessage, ids: CallIds): AiSdkMessage => ({
  role: "assistant",
  content: [
    ...textBlocks(content),
    ...calls.map(({ call, tool, args }) => ({
      ...{ type: "tool-call" as const, toolCallId: ids.begin(call), toolName: tool, input: args },
    })),
  ],
});

/** Providers refuse texts that are empty. */
const textBlocks = (content: readonly Json[]) =>
  content.map((one) => ({ type: "text" as const, text: textOf(one) })).filter(({ text }) => text !== "");

const textOf = (content: Json) => (typeof content === "string" ? content : JSON.stringify(content));

/** An id that the model gave goes back to it as it is. */
const PLAIN_ID = /^[a-zA-Z0-9_-]{1,60}$/;

/**
 * The ids of calls as providers take them: letters, digits, `_` and `-`, each only once in a conversation. An agent may
 * use an id again in a later turn.
 */
class CallIds {
  readonly #last = new Map<string, string>();
  readonly #taken = new Set<string>();

  begin(call: string): string {
    const plain = PLAIN_ID.test(call) ? call : `call_${call.replace(/[^a-zA-Z0-9_-]/g, "_")}`.slice(0, 60);
    let id = plain;
    for (let number = 2; this.#taken.has(id); number += 1) id = `${plain}_${number}`;
    this.#taken.add(id);
    this.#last.set(call, id);
    return id;
  }

  /** Of the result of the call that was begun last under this id. */
  of(call: string): string {
    return this.#last.get(call) ?? call;
  }
}
