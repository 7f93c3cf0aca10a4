/**
 * Owns the forms of events for a part that is not built yet, memory, so that journals stay readable.
 */
import { content, count, fields, name } from "./fields.ts";

export const laterEvents = {
  fact_remembered: () => fields({ fact: name, text: content }),
  fact_revoked: () => fields({ fact: name }),
  context_compacted: () => fields({ tokensBefore: count, tokensAfter: count, summary: content }),
} as const;
