/**
 * Owns OpenAI's Responses: how requests are read and answered, whole or as server-sent events. It keeps no
 * response, so each request has to contain the whole conversation (`store: false`), as agents do it.
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
  type Tool,
  textsIn,
} from "./api.ts";
import { openaiRefusal } from "./openai-refusal.ts";

interface Given {
  readonly type?: string;
  readonly role?: string;
  readonly content?: string | readonly { readonly text?: string }[];
  readonly call_id?: string;
  readonly name?: string;
}

interface Offered {
  readonly type: string;
  readonly name?: string;
  readonly parameters?: Schema;
  /** A tool of a namespace. */
  readonly tools?: readonly Offered[];
}

interface Body {
  readonly model?: string;
  readonly stream?: boolean;
  readonly instructions?: string;
  readonly input?: string | readonly Given[];
  readonly tools?: readonly Offered[];
  readonly text?: { readonly format?: { readonly schema?: Schema } };
}

export const openaiResponses: Api = {
  name: "openai-responses",
  isAt: (path) => path.endsWith("/responses"),
  read,
  speak: (answer, { model, isStreamed }) =>
    isStreamed ? streamed(answer, model) : { json: whole(answer, model) },
  refusal: openaiRefusal,
};

function read(text: string): Asked {
  const body = JSON.parse(text) as Body;
  const given = typeof body.input === "string" ? [{ role: "user", content: body.input }] : (body.input ?? []);
  const told = given.filter(({ role }) => role === "system" || role === "developer");
  return {
    model: body.model ?? "scripted",
    isStreamed: body.stream ?? false,
    isUsageStreamed: true,
    system: [body.instructions ?? "", ...told.flatMap(({ content }) => textsIn(content))].join("\n"),
    items: given.flatMap(itemsOf),
    tools: (body.tools ?? []).flatMap((tool) => toolsOf(tool)),
    form: body.text?.format?.schema,
  };
}

function toolsOf({ type, name, parameters = {}, tools = [] }: Offered, namespace?: string): Tool[] {
  if (type === "namespace") return tools.flatMap((tool) => toolsOf(tool, name));
  return type === "function" && name ? [{ name, namespace, schema: parameters }] : [];
}

function itemsOf({ type = "message", role, content, call_id: id, name = "" }: Given): Item[] {
  if (type.endsWith("_call_output")) return [{ kind: "result", id, name }];
  // Calls without an id are the provider's own.
  if (type.endsWith("_call")) return id === undefined ? [] : [{ kind: "call", id, name }];
  if (type !== "message" || (role !== "user" && role !== "assistant")) return [];
  return textsIn(content).map((text): Item => ({ kind: role, text }));
}

/** It has no field for tokens written to the cache: they count as other input. */
function usageOf({ usage }: Answer) {
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheReadTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + usage.outputTokens,
  };
}

const head = (model: string) => ({ id: "resp_scripted", object: "response", created_at: 1, model });

const partOf = (text: string) => ({ type: "output_text", text, annotations: [] });

/** The items of the output, each also in the form that it has before its text or its arguments exist. */
function outputOf({ text, calls }: Answer) {
  const message = { id: "msg_scripted", type: "message", role: "assistant" };
  const said = {
    open: { ...message, status: "in_progress", content: [] },
    item: { ...message, status: "completed", content: [partOf(text)] },
    middle: textEvents(text, message.id),
  };
  const called = calls.map(({ id, name, namespace, args }) => {
    const call = { id: `fc_${id}`, type: "function_call", call_id: id, name, namespace };
    const json = JSON.stringify(args);
    return {
      open: { ...call, status: "in_progress", arguments: "" },
      item: { ...call, status: "completed", arguments: json },
      middle: argumentEvents(json, call.id),
    };
  });
  return [...(text ? [said] : []), ...called];
}

type Event = readonly [type: string, data: object];

function textEvents(text: string, item_id: string): Event[] {
  const at = { item_id, content_index: 0 };
  return [
    ["response.content_part.added", { ...at, part: partOf("") }],
    ...deltasOf(text).map((delta): Event => ["response.output_text.delta", { ...at, delta }]),
    ["response.output_text.done", { ...at, text }],
    ["response.content_part.done", { ...at, part: partOf(text) }],
  ];
}

function argumentEvents(json: string, item_id: string): Event[] {
  return [
    ...deltasOf(json).map((delta): Event => ["response.function_call_arguments.delta", { item_id, delta }]),
    ["response.function_call_arguments.done", { item_id, arguments: json }],
  ];
}

function whole(answer: Answer, model: string) {
  const output = outputOf(answer).map(({ item }) => item);
  return { ...head(model), status: "completed", error: null, output, usage: usageOf(answer) };
}

function streamed(answer: Answer, model: string): Streamed {
  const begun = { ...head(model), status: "in_progress", error: null, output: [], usage: null };
  const events: Event[] = [
    ["response.created", { response: begun }],
    ["response.in_progress", { response: begun }],
    ...outputOf(answer).flatMap(({ open, item, middle }, output_index): Event[] => [
      ["response.output_item.added", { output_index, item: open }],
      ...middle.map(([type, data]): Event => [type, { output_index, ...data }]),
      ["response.output_item.done", { output_index, item }],
    ]),
    ["response.completed", { response: whole(answer, model) }],
  ];
  return {
    events: events.map(
      ([type, data], sequence_number) =>
        `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...data })}\n\n`,
    ),
    cutAt: (answer.text ? 4 : 3) + halfOf(answer),
  };
}
