/**
 * Owns Anthropic's Messages: how requests are read and answered, whole or as server-sent events.
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

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly tool_use_id?: string;
}

interface Body {
  readonly model?: string;
  readonly stream?: boolean;
  readonly system?: string | readonly Block[];
  readonly messages?: readonly { readonly role: string; readonly content: string | readonly Block[] }[];
  readonly tools?: readonly { readonly name: string; readonly input_schema?: Schema }[];
  readonly output_format?: { readonly schema?: Schema };
  readonly output_config?: { readonly format?: { readonly schema?: Schema } };
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};

export const anthropic: Api = {
  name: "anthropic",
  isAt: (path) => path.endsWith("/messages"),
  read,
  speak: (answer, { model, isStreamed }) =>
    isStreamed ? streamed(answer, model) : { json: whole(answer, model) },
  refusal: (status, message) => ({
    type: "error",
    error: { type: ERROR_TYPES[status] ?? "api_error", message },
  }),
};

function read(text: string): Asked {
  const body = JSON.parse(text) as Body;
  const messages = body.messages ?? [];
  return {
    model: body.model ?? "scripted",
    isStreamed: body.stream ?? false,
    isUsageStreamed: true,
    system: textsIn(body.system).join("\n"),
    items: messages.flatMap(({ role, content }) =>
      (typeof content === "string" ? [{ type: "text", text: content }] : content).flatMap((block) =>
        itemsOf(block, role),
      ),
    ),
    // Tools that the provider runs itself have no schema.
    tools: (body.tools ?? []).flatMap(({ name, input_schema: schema }) => (schema ? [{ name, schema }] : [])),
    form: body.output_config?.format?.schema ?? body.output_format?.schema,
  };
}

function itemsOf(block: Block, role: string): Item[] {
  if (block.type === "tool_use") return [{ kind: "call", id: block.id, name: block.name ?? "" }];
  if (block.type === "tool_result") return [{ kind: "result", id: block.tool_use_id, name: "" }];
  if (block.type !== "text" || block.text === undefined) return [];
  if (role !== "user" && role !== "assistant") return [];
  return [{ kind: role, text: block.text }];
}

function head(answer: Answer, model: string) {
  const { usage } = answer;
  return {
    id: "msg_scripted",
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: {
      input_tokens: usage.inputTokens,
      cache_creation_input_tokens: usage.cacheWriteTokens,
      cache_read_input_tokens: usage.cacheReadTokens,
      // As the provider does it: the number of output tokens is known only at the end.
      output_tokens: Math.min(1, usage.outputTokens),
    },
  };
}

const stopReason = ({ calls }: Answer) => (calls.length > 0 ? "tool_use" : "end_turn");

function whole(answer: Answer, model: string) {
  const { text, calls, usage } = answer;
  const begun = head(answer, model);
  return {
    ...begun,
    content: [
      ...(text ? [{ type: "text", text }] : []),
      ...calls.map(({ id, name, args }) => ({ type: "tool_use", id, name, input: args })),
    ],
    stop_reason: stopReason(answer),
    usage: { ...begun.usage, output_tokens: usage.outputTokens },
  };
}

function streamed(answer: Answer, model: string): Streamed {
  const { text, calls, usage } = answer;
  const texts = text ? [textBlock(text)] : [];
  const blocks = [...texts, ...calls.map(({ id, name, args }) => callBlock(id, name, args))];
  const events = [
    event("message_start", { message: head(answer, model) }),
    event("ping", {}),
    ...blocks.flatMap(({ begin, deltas }, index) => [
      event("content_block_start", { index, content_block: begin }),
      ...deltas.map((delta) => event("content_block_delta", { index, delta })),
      event("content_block_stop", { index }),
    ]),
    event("message_delta", {
      delta: { stop_reason: stopReason(answer), stop_sequence: null },
      usage: { output_tokens: usage.outputTokens },
    }),
    event("message_stop", {}),
  ];
  return { events, cutAt: 3 + halfOf(answer) };
}

const textBlock = (whole: string) => ({
  begin: { type: "text", text: "" },
  deltas: deltasOf(whole).map((text): object => ({ type: "text_delta", text })),
});

const callBlock = (id: string, name: string, args: object) => ({
  begin: { type: "tool_use", id, name, input: {} },
  deltas: deltasOf(JSON.stringify(args)).map((json): object => ({
    type: "input_json_delta",
    partial_json: json,
  })),
});

const event = (type: string, data: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
