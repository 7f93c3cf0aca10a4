/**
 * How a model says one text, in the three forms that agents ask for it: Anthropic's Messages, OpenAI's chat
 * completions and OpenAI's Responses; whole, or as server-sent events.
 */

/** Server-sent events, or one document. */
export type Answer = { readonly events: readonly string[] } | { readonly json: unknown };

const USAGE = { input_tokens: 10, output_tokens: 5 };

const named = (type: string, data: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

export function messages(text: string, model: string, isStreamed: boolean): Answer {
  const block = { type: "text", text };
  const whole = { id: "msg_1", type: "message", role: "assistant", model, stop_sequence: null, usage: USAGE };
  if (!isStreamed) return { json: { ...whole, content: [block], stop_reason: "end_turn" } };
  return {
    events: [
      named("message_start", { message: { ...whole, content: [], stop_reason: null } }),
      named("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
      named("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
      named("content_block_stop", { index: 0 }),
      named("message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, usage: USAGE }),
      named("message_stop", {}),
    ],
  };
}

export function chatCompletions(text: string, model: string, isStreamed: boolean): Answer {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const whole = { id: "chatcmpl-1", created: 1, model };
  const message = { role: "assistant", content: text };
  const choice = { index: 0, finish_reason: "stop" };
  if (!isStreamed)
    return { json: { ...whole, object: "chat.completion", choices: [{ ...choice, message }], usage } };
  const chunk = (data: object) =>
    `data: ${JSON.stringify({ ...whole, object: "chat.completion.chunk", ...data })}\n\n`;
  return {
    events: [
      chunk({ choices: [{ index: 0, delta: message, finish_reason: null }] }),
      chunk({ choices: [{ ...choice, delta: {} }], usage }),
      "data: [DONE]\n\n",
    ],
  };
}

export function responses(text: string, model: string, isStreamed: boolean): Answer {
  const part = { type: "output_text", text, annotations: [] };
  const item = { id: "item_1", type: "message", role: "assistant", status: "completed", content: [part] };
  const usage = { ...USAGE, total_tokens: 15 };
  const whole = { id: "resp_1", object: "response", created_at: 1, model };
  const completed = { ...whole, status: "completed", output: [item], usage };
  if (!isStreamed) return { json: completed };
  return {
    events: [
      named("response.created", { response: { ...whole, status: "in_progress", output: [] } }),
      named("response.output_item.added", {
        output_index: 0,
        item: { ...item, status: "in_progress", content: [] },
      }),
      named("response.output_text.delta", {
        item_id: "item_1",
        output_index: 0,
        content_index: 0,
        delta: text,
      }),
      named("response.output_item.done", { output_index: 0, item }),
      named("response.completed", { response: completed }),
    ],
  };
}
