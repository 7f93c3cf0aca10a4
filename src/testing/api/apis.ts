/** Owns the list of the APIs that the scripted model has. */
import { anthropic } from "./anthropic.ts";
import type { Api } from "./api.ts";
import { gemini } from "./gemini.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";

const apis: readonly Api[] = [anthropic, openaiChat, openaiResponses, gemini];

export function apiAt(path: string): Api | undefined {
  return apis.find((api) => api.isAt(path));
}
