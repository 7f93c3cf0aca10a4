/**
 * Owns the rules for secrets that secretlint does not know: tokens that its patterns miss. Like its rules,
 * they apply to every text.
 */
import type { Span } from "./span.ts";

interface OwnRule {
  readonly name: string;
  /** A text that every such secret contains. */
  readonly mark: string;
  /** Including the characters that follow: it is unknown where in a word the secret ends. */
  readonly pattern: RegExp;
}

const RULES: readonly OwnRule[] = [
  // Of a subscription: the token itself, and the token that renews it.
  { name: "anthropic-oauth", mark: "sk-ant-o", pattern: /sk-ant-o[ar]t\d\d-[\w-]{16,}/g },
  { name: "openrouter", mark: "sk-or-v", pattern: /sk-or-v\d-\w{16,}/g },
];

export function findOwn(content: string): Span[] {
  return RULES.filter(({ mark }) => content.includes(mark)).flatMap(({ name, pattern }) =>
    [...content.matchAll(pattern)].map(({ index, 0: match }) => ({
      rule: name,
      start: index,
      end: index + match.length,
    })),
  );
}
