/** A client for each API that the scripted model speaks. */
import { anthropic } from "./anthropic.ts";
import type { Client } from "./client.ts";
import { gemini, geminiWithoutIds } from "./gemini.ts";
import { chat } from "./openai-chat.ts";
import { responses } from "./openai-responses.ts";

export { ask, type Client, type Entry, type OfferedTool, post, type Said } from "./client.ts";
export { anthropic, chat, gemini, responses };

export const clients: readonly Client[] = [anthropic, chat, responses, gemini, geminiWithoutIds];
