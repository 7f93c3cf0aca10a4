/**
 * Owns the rules for secrets that secretlint's have not: tokens that its patterns pass over. Like its rules, they hold in
 * every text.
 */
import type { Span } from "./span.ts";

interface OwnRule {
  readonly name: string;
  /** What such a secret can't be without. */
  readonly mark: string;
  /** With all that goes on behind it: nobody can say where in a word the secret ends. */
  readonly pattern: RegExp;
}

const RULES: readonly OwnRule[] = [
  // Of a subscription: the token itself, and the one that it is renewed with.
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
