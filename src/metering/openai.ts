/**
 * Owns where the answers of OpenAI's APIs, and of compatible ones, have their usage. Chat completions have it
 * in `usage`, which a stream has in its last chunk if the request asked for it
 * (`stream_options.include_usage`). Responses have it in `usage` of the response, which a stream has in its
 * last event. Their input tokens include cached ones.
 */
import { countIn, fieldsIn, type Reading, readingOf } from "./reading.ts";

export function readOpenAi(value: unknown): Reading {
  const part = fieldsIn(value);
  const response = "response" in part ? fieldsIn(part["response"]) : part;
  const usage = fieldsIn(response["usage"]);
  const details = fieldsIn(usage["input_tokens_details"] ?? usage["prompt_tokens_details"]);
  const input = countIn(usage["input_tokens"] ?? usage["prompt_tokens"]);
  const cacheReadTokens = countIn(details["cached_tokens"]);
  const cacheWriteTokens = countIn(details["cache_write_tokens"]);
  const cached = (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);
  return readingOf(response["model"], {
    inputTokens: input === undefined ? undefined : Math.max(0, input - cached),
    outputTokens: countIn(usage["output_tokens"] ?? usage["completion_tokens"]),
    cacheReadTokens,
    cacheWriteTokens,
  });
}
