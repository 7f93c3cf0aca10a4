/** A client of OpenAI's chat completions. */
import { type Client, joined } from "./client.ts";

interface ChatCall {
  index: number;
  id: string;
  function: { name: string; arguments: string };
}

export const chat: Client = {
  name: "openai-chat",
  path: () => "/v1/chat/completions",
  body: ({ entries, tools = [], system, isStreamed = false }) => ({
    model: "m",
    ...(isStreamed && { stream: true, stream_options: { include_usage: true } }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, schema }) => ({ type: "function", function: { name, parameters: schema } })),
    }),
    messages: [
      ...(system ? [{ role: "system", content: system }] : []),
      ...entries.flatMap((entry): object[] => {
        if ("user" in entry) return [{ role: "user", content: entry.user }];
        if ("results" in entry)
          return entry.results.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "ok" }));
        const { text, calls } = entry.said;
        const uses = calls.map(({ id, name, args }) => ({
          id,
          type: "function",
          function: { name, arguments: JSON.stringify(args) },
        }));
        return [{ role: "assistant", content: text || null, ...(uses.length > 0 && { tool_calls: uses }) }];
      }),
    ],
  }),
  whole: ({
    choices: [choice],
    usage,
  }: {
    choices: [{ message: { content: string | null; tool_calls?: ChatCall[] }; finish_reason: string }];
    usage: object;
  }) => ({
    text: choice.message.content ?? "",
    calls: (choice.message.tool_calls ?? []).map(({ id, function: { name, arguments: json } }) => ({
      id,
      name,
      args: JSON.parse(json),
    })),
    stop: choice.finish_reason,
    usage,
  }),
  streamed: (
    chunks: {
      choices: { delta: { content?: string; tool_calls?: ChatCall[] }; finish_reason: string | null }[];
      usage?: object;
    }[],
  ) => {
    const choices = chunks.flatMap((chunk) => chunk.choices);
    const pieces = choices.flatMap(({ delta }) => delta.tool_calls ?? []);
    const begun = pieces.filter(({ id }) => id);
    return {
      text: joined(choices.map(({ delta }) => delta.content)),
      calls: begun.map(({ index, id, function: { name } }) => ({
        id,
        name,
        args: JSON.parse(
          joined(pieces.filter((piece) => piece.index === index).map((piece) => piece.function.arguments)),
        ),
      })),
      stop: choices.find(({ finish_reason: reason }) => reason)?.finish_reason,
      usage: chunks.find(({ usage }) => usage)?.usage,
    };
  },
};
