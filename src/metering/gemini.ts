/**
 * Owns where Gemini's API says what an answer costs: in `usageMetadata` of every part, each with the sums so far. Its
 * prompt includes what came from a cache; what the model thought is output that is counted apart.
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

/** Undefined where neither is a count. */
function sum(...values: readonly unknown[]): number | undefined {
  const counts = values.map(countIn).filter((count) => count !== undefined);
  return counts.length > 0 ? counts.reduce((all, count) => all + count) : undefined;
}
