/** A client of OpenAI's Responses. */
import { type Client, joined, type Said } from "./client.ts";

interface ResponseItem {
  type: string;
  content?: { text: string }[];
  call_id: string;
  name: string;
  arguments: string;
}

const readOutput = (output: ResponseItem[], status: string, usage: object): Said => ({
  text: joined(output.flatMap(({ content }) => content ?? []).map(({ text }) => text)),
  calls: output
    .filter(({ type }) => type === "function_call")
    .map(({ call_id: id, name, arguments: json }) => ({ id, name, args: JSON.parse(json) })),
  stop: status,
  usage,
});

export const responses: Client = {
  name: "openai-responses",
  path: () => "/v1/responses",
  body: ({ entries, tools = [], system, isStreamed = false }) => ({
    model: "m",
    stream: isStreamed,
    ...(system && { instructions: system }),
    tools: tools.map(({ name, schema }) => ({ type: "function", name, parameters: schema })),
    input: entries.flatMap((entry): object[] => {
      if ("user" in entry)
        return [{ type: "message", role: "user", content: [{ type: "input_text", text: entry.user }] }];
      if ("results" in entry)
        return entry.results.map(({ id }) => ({ type: "function_call_output", call_id: id, output: "ok" }));
      const { text, calls } = entry.said;
      const content = [{ type: "output_text", text }];
      return [
        ...(text ? [{ type: "message", role: "assistant", content }] : []),
        ...calls.map(({ id, name, args }) => ({
          type: "function_call",
          call_id: id,
          name,
          arguments: JSON.stringify(args),
        })),
      ];
    }),
  }),
  whole: ({ output, status, usage }: { output: ResponseItem[]; status: string; usage: object }) =>
    readOutput(output, status, usage),
  /** From the deltas alone; what the last event repeats must be the same. */
  streamed: (
    events: {
      type: string;
      output_index: number;
      item: ResponseItem;
      delta: string;
      response: { output: ResponseItem[]; status: string; usage: object };
    }[],
  ) => {
    const deltas = (type: string, index?: number) =>
      joined(
        events
          .filter((event) => event.type === type && (index === undefined || event.output_index === index))
          .map(({ delta }) => delta),
      );
    const end = events.at(-1)?.response;
    const calls = events
      .filter(({ type, item }) => type === "response.output_item.added" && item.type === "function_call")
      .map(({ item: { call_id: id, name }, output_index: index }) => ({
        id,
        name,
        args: JSON.parse(deltas("response.function_call_arguments.delta", index)),
      }));
    const said = { text: deltas("response.output_text.delta"), calls, stop: end?.status, usage: end?.usage };
    const repeated = readOutput(end?.output ?? [], end?.status ?? "", end?.usage ?? {});
    if (JSON.stringify(repeated) !== JSON.stringify(said)) throw new Error("the last event says otherwise");
    return said;
  },
};
