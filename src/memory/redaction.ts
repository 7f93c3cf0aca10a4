/**
 * Owns redaction: the port that takes secrets out of a batch before it is appended, behind which stand
 * secretlint's recommended rules. R1 A record that a rule fired on names the rule and no longer has the text.
 */
import type { SecretLintCoreConfig, SecretLintRulePresetCreator } from "@secretlint/types";
import type { Json, JsonObject } from "../contract/index.ts";
import type { Redaction, Redactor } from "../journal/index.ts";

const PRESET = "@secretlint/secretlint-rule-preset-recommend";
const RULE_PREFIX = "@secretlint/secretlint-rule-";
const COMMENT_FILTER = `${RULE_PREFIX}filter-comments`;
/** Between two texts of a batch: no rule's pattern reaches across it. */
const SEPARATOR = "\n\n";

interface Span {
  readonly start: number;
  readonly end: number;
  readonly rule: string;
}

/** One run of the rules costs about as much for a batch as for one text, so a batch is joined for it. */
export const redactSecrets: Redactor = async (batch) => {
  const texts: string[] = [];
  for (const data of batch) collectTexts(data, texts);
  const spans = await findSecrets(texts.join(SEPARATOR));
  if (spans.length === 0) return batch.map((data) => ({ data, rules: [] }));

  let offset = 0;
  return batch.map((data): Redaction => {
    const rules = new Set<string>();
    const redacted = mapTexts(data, (text) => {
      const start = offset;
      offset += text.length + SEPARATOR.length;
      return redactText(text, start, spans, rules);
    });
    return { data: redacted as JsonObject, rules: [...rules].sort() };
  });
};

async function findSecrets(content: string): Promise<Span[]> {
  const { lintSource, config } = await loadRules();
  const source = { content, filePath: "record.txt", ext: ".txt", contentType: "text" as const };
  const { messages } = await lintSource({ source, options: { config } });
  return messages
    .map(({ range, ruleId }) => ({ start: range[0], end: range[1], rule: ruleId.replace(RULE_PREFIX, "") }))
    .sort((a, b) => a.start - b.start);
}

let rules: ReturnType<typeof importRules> | undefined;
function loadRules() {
  rules ??= importRules();
  return rules;
}

async function importRules() {
  const [{ lintSource }, { creator }] = await Promise.all([
    import("@secretlint/core"),
    import("@secretlint/secretlint-rule-preset-recommend"),
  ]);
  const config: SecretLintCoreConfig = { rules: [{ id: PRESET, rule: withoutCommentFilter(creator) }] };
  return { lintSource, config };
}

/**
 * One rule of the preset switches the others off where a comment in the text says so. The text is the
 * agent's, so that rule is left out. (Its `disabled` option has no effect inside a preset.)
 */
function withoutCommentFilter(preset: SecretLintRulePresetCreator): SecretLintRulePresetCreator {
  return {
    ...preset,
    create: (context, options) =>
      preset.create(
        {
          ...context,
          registerRule: (rule, defaults) => {
            if (rule.meta.id !== COMMENT_FILTER) context.registerRule(rule, defaults);
          },
        },
        options,
      ),
  };
}

function redactText(text: string, offset: number, spans: readonly Span[], fired: Set<string>): string {
  let result = "";
  let done = 0;
  for (const { start, end, rule } of spans) {
    const from = Math.max(start - offset, done);
    const to = Math.min(end - offset, text.length);
    if (from >= to) continue;
    result += `${text.slice(done, from)}[redacted:${rule}]`;
    done = to;
    fired.add(rule);
  }
  return result + text.slice(done);
}

function collectTexts(value: Json, texts: string[]): void {
  if (typeof value === "string") texts.push(value);
  else if (Array.isArray(value)) for (const item of value) collectTexts(item, texts);
  else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      texts.push(key);
      collectTexts(item, texts);
    }
  }
}

/** Visits texts, keys included, in the order of `collectTexts`. */
function mapTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== "object" || value === null) return value;
  const mapped = new Map<string, Json>();
  for (const [key, item] of Object.entries(value)) {
    const changed = change(key);
    // Two secrets as keys become the same text: neither value may be lost.
    mapped.set(mapped.has(changed) ? `${changed}#${mapped.size}` : changed, mapTexts(item, change));
  }
  return Object.fromEntries(mapped);
}
