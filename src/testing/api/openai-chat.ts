/**
 * Owns OpenAI's chat completions, which many other providers use, too: how requests are read and answered,
 * whole or as server-sent events.
 */
import {
  type Answer,
  type Api,
  type Asked,
  deltasOf,
  halfOf,
  type Item,
  type Schema,
  type Streamed,
  textsIn,
} from "./api.ts";
import { openaiRefusal } from "./openai-refusal.ts";

interface Message {
  readonly role: string;
  readonly content?: string | null | readonly { readonly text?: string }[];
  readonly tool_calls?: readonly { readonly id?: string; readonly function?: { readonly name?: string } }[];
  readonly tool_call_id?: string;
}

interface Body {
  readonly model?: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly messages?: readonly Message[];
  readonly tools?: readonly {
    readonly function?: { readonly name: string; readonly parameters?: Schema };
  }[];
  readonly response_format?: { readonly json_schema?: { readonly schema?: Schema } };
}

export const openaiChat: Api = {
  name: "openai-chat",
  isAt: (path) => path.endsWith("/chat/completions"),
  read,
  speak: (answer, asked) =>
    asked.isStreamed ? streamed(answer, asked) : { json: whole(answer, asked.model) },
  refusal: openaiRefusal,
};

function read(text: string): Asked {
  const body = JSON.parse(text) as Body;
  const messages = body.messages ?? [];
  const told = messages.filter(({ role }) => role === "system" || role === "developer");
  return {
    model: body.model ?? "scripted",
    isStreamed: body.stream ?? false,
    isUsageStreamed: body.stream_options?.include_usage ?? false,
    system: told.flatMap(({ content }) => textsIn(content ?? undefined)).join("\n"),
    items: messages.flatMap(itemsOf),
    tools: (body.tools ?? []).flatMap(({ function: one }) =>
      one ? [{ name: one.name, schema: one.parameters ?? {} }] : [],
    ),
    form: body.response_format?.json_schema?.schema,
  };
}

function itemsOf({ role, content, tool_calls: calls = [], tool_call_id: id }: Message): Item[] {
  if (role === "tool") return [{ kind: "result", id, name: "" }];
  if (role !== "user" && role !== "assistant") return [];
  return [
    ...textsIn(content ?? undefined).map((text): Item => ({ kind: role, text })),
    ...calls.map((call): Item => ({ kind: "call", id: call.id, name: call.function?.name ?? "" })),
  ];
}

/** It has no field for tokens written to the cache: they count as other input. */
function usageOf({ usage }: Answer) {
  const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.outputTokens,
    total_tokens: prompt + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cacheReadTokens },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

const finishReason = ({ calls }: Answer) => (calls.length > 0 ? "tool_calls" : "stop");

const head = (model: string) => ({ id: "chatcmpl-scripted", created: 1, model });

function whole(answer: Answer, model: string) {
  const calls = answer.calls.map(({ id, name, args }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  const message = {
    role: "assistant",
    content: answer.text || null,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return {
    ...head(model),
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason: finishReason(answer) }],
    usage: usageOf(answer),
  };
}

function streamed(answer: Answer, { model, isUsageStreamed }: Asked): Streamed {
  const chunk = (data: object) =>
    `data: ${JSON.stringify({ ...head(model), object: "chat.completion.chunk", ...data })}\n\n`;
  const said = (delta: object, finish_reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason }] });
  const called = (index: number, data: object) => said({ tool_calls: [{ index, ...data }] });
  const events = [
    said({ role: "assistant", content: "" }),
    ...deltasOf(answer.text).map((content) => said({ content })),
    ...answer.calls.flatMap(({ id, name, args }, index) => [
      called(index, { id, type: "function", function: { name, arguments: "" } }),
      ...deltasOf(JSON.stringify(args)).map((json) => called(index, { function: { arguments: json } })),
    ]),
    said({}, finishReason(answer)),
    ...(isUsageStreamed ? [chunk({ choices: [], usage: usageOf(answer) })] : []),
    "data: [DONE]\n\n",
  ];
  return { events, cutAt: (answer.text ? 1 : 2) + halfOf(answer) };
}
