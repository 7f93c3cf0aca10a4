/** Clients of Gemini's generateContent: one that returns the ids of calls, and one that, like older ones, does not. */
import { type Client, joined, type Said } from "./client.ts";

interface GeminiResponse {
  candidates: [
    {
      content: { parts: { text?: string; functionCall?: { id: string; name: string; args: unknown } }[] };
      finishReason?: string;
    },
  ];
  usageMetadata: object;
}

const readGemini = (answers: GeminiResponse[]): Said => {
  const parts = answers.flatMap(({ candidates: [{ content }] }) => content.parts);
  return {
    text: joined(parts.map(({ text }) => text)),
    calls: parts.flatMap(({ functionCall }) => (functionCall ? [functionCall] : [])),
    stop: answers.at(-1)?.candidates[0].finishReason,
    usage: answers.at(-1)?.usageMetadata,
  };
};

const withIds = (name: string, idOf: (id: string) => { id?: string }): Client => ({
  name,
  path: (isStreamed) =>
    isStreamed ? "/v1beta/models/m:streamGenerateContent?alt=sse" : "/v1beta/models/m:generateContent",
  body: ({ entries, tools = [], system }) => ({
    ...(system && { systemInstruction: { parts: [{ text: system }] } }),
    ...(tools.length > 0 && {
      tools: [
        {
          functionDeclarations: tools.map(({ name, schema }) => ({ name, parametersJsonSchema: schema })),
        },
      ],
    }),
    contents: entries.map((entry) => {
      if ("user" in entry) return { role: "user", parts: [{ text: entry.user }] };
      if ("results" in entry)
        return {
          role: "user",
          parts: entry.results.map(({ id, name }) => ({
            functionResponse: { ...idOf(id), name, response: { output: "ok" } },
          })),
        };
      const { text, calls } = entry.said;
      const parts = calls.map(({ id, name, args }) => ({ functionCall: { ...idOf(id), name, args } }));
      return { role: "model", parts: [...(text ? [{ text }] : []), ...parts] };
    }),
  }),
  whole: (answer: GeminiResponse) => readGemini([answer]),
  streamed: (answers: GeminiResponse[]) => readGemini(answers),
});

export const gemini = withIds("gemini", (id) => ({ id }));
export const geminiWithoutIds = withIds("gemini without ids", () => ({}));
