/**
 * Owns where Anthropic's Messages API says what an answer costs: in the message, which a stream begins with, and in
 * `message_delta`, whose counts replace the earlier ones. Its input tokens leave out those of a cache.
 */
import { countIn, fieldsIn, type Reading, readingOf } from "./reading.ts";

export function readAnthropic(value: unknown): Reading {
  const part = fieldsIn(value);
  const message = part["type"] === "message_start" ? fieldsIn(part["message"]) : part;
  const usage = fieldsIn(message["usage"]);
  return readingOf(message["model"], {
    inputTokens: countIn(usage["input_tokens"]),
    outputTokens: countIn(usage["output_tokens"]),
    cacheReadTokens: countIn(usage["cache_read_input_tokens"]),
    cacheWriteTokens: countIn(usage["cache_creation_input_tokens"]),
  });
}
