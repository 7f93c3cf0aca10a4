/**
 * Owns where the answers of Anthropic's Messages API have their usage: in the message, with which a stream
 * begins, and in `message_delta`, whose counts replace the earlier ones. Input tokens do not include cached
 * ones. The output tokens at the beginning of a stream are not read: the answer has not been written by then. A
 * `message_delta` may report 0 where it does not know the input: then the count of the beginning stays.
 */
import { countIn, fieldsIn, type Reading, readingOf } from "./reading.ts";

export function readAnthropic(value: unknown): Reading {
  const part = fieldsIn(value);
  const isStart = part["type"] === "message_start";
  const message = isStart ? fieldsIn(part["message"]) : part;
  const usage = fieldsIn(message["usage"]);
  const isDelta = part["type"] === "message_delta";
  const inputCount = (value: unknown) => (isDelta && value === 0 ? undefined : countIn(value));
  return readingOf(message["model"], {
    inputTokens: inputCount(usage["input_tokens"]),
    outputTokens: isStart ? undefined : countIn(usage["output_tokens"]),
    cacheReadTokens: inputCount(usage["cache_read_input_tokens"]),
    cacheWriteTokens: inputCount(usage["cache_creation_input_tokens"]),
    hourlyCacheWriteTokens: inputCount(fieldsIn(usage["cache_creation"])["ephemeral_1h_input_tokens"]),
  });
}
