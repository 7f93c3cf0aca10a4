/** A client of Anthropic's Messages. */
import { type Client, joined } from "./client.ts";

interface AnthropicBlock {
  type: string;
  text?: string;
  id: string;
  name: string;
  input: unknown;
}

export const anthropic: Client = {
  name: "anthropic",
  path: () => "/v1/messages",
  body: ({ entries, tools = [], system, isStreamed = false }) => ({
    model: "m",
    stream: isStreamed,
    ...(system && { system: [{ type: "text", text: system }] }),
    ...(tools.length > 0 && { tools: tools.map(({ name, schema }) => ({ name, input_schema: schema })) }),
    messages: entries.map((entry) => {
      if ("user" in entry) return { role: "user", content: entry.user };
      if ("results" in entry)
        return {
          role: "user",
          content: entry.results.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "ok" })),
        };
      const { text, calls } = entry.said;
      const uses = calls.map(({ id, name, args }) => ({ type: "tool_use", id, name, input: args }));
      return { role: "assistant", content: [...(text ? [{ type: "text", text }] : []), ...uses] };
    }),
  }),
  whole: ({
    content,
    stop_reason: stop,
    usage,
  }: {
    content: AnthropicBlock[];
    stop_reason: string;
    usage: object;
  }) => ({
    text: joined(content.map(({ text }) => text)),
    calls: content
      .filter(({ type }) => type === "tool_use")
      .map(({ id, name, input }) => ({ id, name, args: input })),
    stop,
    usage,
  }),
  streamed: (
    events: {
      type: string;
      index: number;
      message: { usage: object };
      content_block: AnthropicBlock;
      delta: { text?: string; partial_json?: string; stop_reason?: string };
      usage: object;
    }[],
  ) => {
    const deltas = (index: number) =>
      events.filter((event) => event.type === "content_block_delta" && event.index === index);
    const begun = events.filter(({ type }) => type === "content_block_start");
    const end = events.find(({ type }) => type === "message_delta");
    return {
      text: joined(begun.flatMap(({ index }) => deltas(index).map(({ delta }) => delta.text))),
      calls: begun
        .filter(({ content_block: block }) => block.type === "tool_use")
        .map(({ index, content_block: { id, name } }) => ({
          id,
          name,
          args: JSON.parse(joined(deltas(index).map(({ delta }) => delta.partial_json))),
        })),
      stop: end?.delta.stop_reason,
      usage: { ...events.find(({ type }) => type === "message_start")?.message.usage, ...end?.usage },
    };
  },
};
