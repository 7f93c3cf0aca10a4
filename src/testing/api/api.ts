/**
 * Owns what the APIs of the providers have in common: what a request asks, and what an answer has. Each API
 * has a file of its own, which reads requests and writes answers. A request is read leniently: what an API
 * does not know is ignored, and never a failure.
 */

/** The tokens that an answer reports. */
export interface Usage {
  /** Input tokens that were neither read from the cache nor written to it. */
  readonly inputTokens: number;
  /** Tokens that the model wrote. */
  readonly outputTokens: number;
  /** Input tokens that were read from the cache. */
  readonly cacheReadTokens: number;
  /** Input tokens that were written to the cache. */
  readonly cacheWriteTokens: number;
}

/** The part of JSON Schema that tools are described with. Gemini writes types in capitals. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
}

export interface Tool {
  readonly name: string;
  /** OpenAI's Responses may group tools under a name, for example those of one MCP server. */
  readonly namespace?: string | undefined;
  readonly schema: Schema;
}

/** A conversation as a flat list: texts, calls of tools, and their results, in order. */
export type Item =
  | { readonly kind: "user" | "assistant"; readonly text: string }
  | { readonly kind: "call" | "result"; readonly id: string | undefined; readonly name: string };

export interface Asked {
  readonly model: string;
  readonly isStreamed: boolean;
  /** OpenAI's chat completions stream no usage unless they are asked to. */
  readonly isUsageStreamed: boolean;
  /** What the agent tells the model beside the conversation. */
  readonly system: string;
  readonly items: readonly Item[];
  readonly tools: readonly Tool[];
  /** The form that the text of the answer must have, if one is asked for. */
  readonly form: Schema | undefined;
}

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly args: object;
}

export interface Answer {
  readonly text: string;
  readonly calls: readonly Call[];
  readonly usage: Usage;
}

/** Server-sent events, or one document. */
export type Spoken = Streamed | { readonly json: unknown };

export interface Streamed {
  readonly events: readonly string[];
  /**
   * Where a broken answer breaks: in the middle of the first text or call, so that no call of it can be made.
   */
  readonly cutAt: number;
}

export interface Api {
  readonly name: "anthropic" | "openai-chat" | "openai-responses" | "gemini";
  /** Whether this path is for conversations. */
  isAt(path: string): boolean;
  read(body: string, path: string): Asked;
  speak(answer: Answer, asked: Asked): Spoken;
  /** The body of a failure. */
  refusal(status: number, message: string): unknown;
}

const DELTA_CHARS = 32;

/** A text in the pieces of a stream. No character is cut in two. */
export function deltasOf(text: string): string[] {
  return text.match(new RegExp(`[\\s\\S]{1,${DELTA_CHARS}}`, "gu")) ?? [];
}

/** How many deltas a broken answer has of its first text or call. */
export function halfOf({ text, calls: [call] }: Answer): number {
  return Math.floor(deltasOf(text || JSON.stringify(call?.args ?? {})).length / 2);
}

/** Texts that are in a string, or in a list of parts. */
export function textsIn(content: string | readonly { readonly text?: string }[] | undefined): string[] {
  if (content === undefined) return [];
  if (typeof content === "string") return [content];
  return content.flatMap(({ text }) => (text === undefined ? [] : [text]));
}
