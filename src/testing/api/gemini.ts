/**
 * Owns Gemini's generateContent and streamGenerateContent: how requests are read and answered, whole or as
 * server-sent events. The path names the model, and whether the answer is streamed.
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

interface Named {
  readonly id?: string;
  readonly name?: string;
}

interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly functionCall?: Named;
  readonly functionResponse?: Named;
}

interface Declared {
  readonly name: string;
  readonly parameters?: Schema;
  readonly parametersJsonSchema?: Schema;
}

interface Body {
  readonly contents?: readonly { readonly role?: string; readonly parts?: readonly Part[] }[];
  readonly systemInstruction?: { readonly parts?: readonly Part[] };
  readonly tools?: readonly { readonly functionDeclarations?: readonly Declared[] }[];
  readonly generationConfig?: {
    readonly responseSchema?: Schema;
    readonly responseJsonSchema?: Schema;
  };
}

const ERROR_STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE",
};

export const gemini: Api = {
  name: "gemini",
  isAt: (path) => /:(?:g|streamG)enerateContent$/.test(path),
  read,
  speak: (answer, { model, isStreamed }) =>
    isStreamed ? streamed(answer, model) : { json: whole(answer, model) },
  refusal: (status, message) => ({
    error: { code: status, message, status: ERROR_STATUSES[status] ?? "INTERNAL" },
  }),
};

function read(text: string, path: string): Asked {
  const body = JSON.parse(text) as Body;
  const declared = (body.tools ?? []).flatMap(({ functionDeclarations = [] }) => functionDeclarations);
  const { responseSchema, responseJsonSchema } = body.generationConfig ?? {};
  return {
    model: /\/models\/([^/:]+):/.exec(path)?.[1] ?? "scripted",
    isStreamed: path.endsWith(":streamGenerateContent"),
    isUsageStreamed: true,
    system: textsIn(body.systemInstruction?.parts).join("\n"),
    items: (body.contents ?? []).flatMap(({ role, parts = [] }) =>
      parts.flatMap((part) => itemsOf(part, role === "model" ? "assistant" : "user")),
    ),
    tools: declared.map(({ name, parameters, parametersJsonSchema }) => ({
      name,
      schema: parametersJsonSchema ?? parameters ?? {},
    })),
    form: responseJsonSchema ?? responseSchema,
  };
}

function itemsOf(
  { text, thought, functionCall, functionResponse }: Part,
  kind: "user" | "assistant",
): Item[] {
  if (functionCall) return [{ kind: "call", id: functionCall.id, name: functionCall.name ?? "" }];
  if (functionResponse)
    return [{ kind: "result", id: functionResponse.id, name: functionResponse.name ?? "" }];
  return text === undefined || thought ? [] : [{ kind, text }];
}

/** It has no field for tokens written to the cache: they count as other input. */
function usageOf({ usage }: Answer) {
  const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return {
    promptTokenCount: prompt,
    cachedContentTokenCount: usage.cacheReadTokens,
    candidatesTokenCount: usage.outputTokens,
    totalTokenCount: prompt + usage.outputTokens,
  };
}

function responseOf(answer: Answer, model: string, parts: readonly object[], isLast: boolean) {
  const content = { role: "model", parts };
  return {
    candidates: [{ index: 0, content, ...(isLast && { finishReason: "STOP" }) }],
    usageMetadata: usageOf(answer),
    modelVersion: model,
    responseId: "scripted",
  };
}

const callParts = ({ calls }: Answer) =>
  calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } }));

function whole(answer: Answer, model: string) {
  const said = answer.text ? [{ text: answer.text }] : [];
  return responseOf(answer, model, [...said, ...callParts(answer)], true);
}

/** A call comes in one part, and each part in an event of its own. */
function streamed(answer: Answer, model: string): Streamed {
  const parts = [...deltasOf(answer.text).map((text) => ({ text })), ...callParts(answer)];
  const filled = parts.length > 0 ? parts : [{ text: "" }];
  const events = filled.map((part, at) => {
    const response = responseOf(answer, model, [part], at === filled.length - 1);
    return `data: ${JSON.stringify(response)}\r\n\r\n`;
  });
  return { events, cutAt: answer.text ? halfOf(answer) : 0 };
}
