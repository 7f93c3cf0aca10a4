/**
 * Secrets as the installed rules describe them: generated from their patterns, so none of them is real.
 */
import fc from "fast-check";

interface InstalledRule {
  readonly meta: { readonly id: string };
  create(context: object, options: object): { file?(source: unknown): unknown };
}

/**
 * The patterns that each rule searches a text for, in files of any kind. A rule that parses its files instead
 * has none.
 */
export async function installedPatterns(): Promise<Map<string, RegExp[]>> {
  const { creator } = await import("@secretlint/secretlint-rule-preset-recommend");
  const patterns = new Map<string, RegExp[]>();
  const context = { sharedOptions: {}, report() {}, ignore() {}, createTranslator: () => () => ({}) };
  for (const rule of creator.rules as unknown as InstalledRule[]) {
    const asked = new Map<string, RegExp>();
    // A text that notes the patterns that it is searched for.
    class Asked extends String {
      override matchAll(pattern: RegExp) {
        asked.set(pattern.source, pattern);
        return super.matchAll(pattern);
      }
    }
    const { file } = rule.create(context, {});
    for (const [filePath, ext] of FILES)
      await file?.({ content: new Asked("nothing"), filePath, ext, contentType: "text" });
    patterns.set(rule.meta.id.replace("@secretlint/secretlint-rule-", ""), [...asked.values()]);
  }
  patterns.delete("filter-comments");
  return patterns;
}

const FILES = [
  ["record.txt", ".txt"],
  [".npmrc", ""],
  [".docker/config.json", ".json"],
  ["key.json", ".json"],
] as const;

/** Ends of words, and what must not be before or after a secret. */
const ANCHORS = /\(\?<?!(?:\[[^\]]*\]|\\p\{L\}|\\w)\)|\\b/g;

export function secretOf({ source }: RegExp): fc.Arbitrary<string> {
  return fc.stringMatching(new RegExp(`^(?:${source.replace(ANCHORS, "")})$`));
}

/** Whether a pattern misses a secret that directly follows a word. */
export const isAnchored = ({ source }: RegExp) => /^(?:\(\?<|\\b|\^)/.test(source);
