/**
 * Owns where the answers of Gemini's API have their usage: in `usageMetadata` of every part, each with the
 * sums so far. Prompt tokens include cached ones. Tokens for thoughts are output that is counted separately.
 */
import { countIn, fieldsIn, type Reading, readingOf } from "./reading.ts";

export function readGemini(value: unknown): Reading {
  const part = fieldsIn(value);
  const usage = fieldsIn(part["usageMetadata"]);
  const prompt = countIn(usage["promptTokenCount"]);
  const cacheReadTokens = countIn(usage["cachedContentTokenCount"]);
  const answered = sum(usage["candidatesTokenCount"], usage["thoughtsTokenCount"]);
  return readingOf(part["modelVersion"], {
    inputTokens:
      prompt === undefined
        ? undefined
        : Math.max(0, prompt - (cacheReadTokens ?? 0)) + (countIn(usage["toolUsePromptTokenCount"]) ?? 0),
    outputTokens: answered,
    cacheReadTokens,
    cacheWriteTokens: undefined,
  });
}

/** Undefined when neither is a count. */
function sum(...values: readonly unknown[]): number | undefined {
  const counts = values.map(countIn).filter((count) => count !== undefined);
  return counts.length > 0 ? counts.reduce((all, count) => all + count) : undefined;
}
