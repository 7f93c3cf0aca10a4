/**
 * Owns where OpenAI's APIs, and those that are like them, say what an answer costs: chat completions in `usage`, which a
 * stream has in its last chunk if that was asked for (`stream_options.include_usage`), and Responses in `usage` of the
 * response, which the last event of a stream has. Their input tokens include those of a cache.
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
