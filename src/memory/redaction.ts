/**
 * Owns redaction: the port that takes secrets out of a batch before it is appended, behind which stand
 * secretlint's recommended rules. R1 A record that a rule fired on names the rule and no longer has the text.
 */
import type { SecretLintRuleCreator, SecretLintSourceCode } from "@secretlint/types";
import type { Json, JsonObject } from "../contract/index.ts";
import type { Redaction, Redactor } from "../journal/index.ts";

const RULE_PREFIX = "@secretlint/secretlint-rule-";
const COMMENT_FILTER = `${RULE_PREFIX}filter-comments`;
/** Between two texts of a batch: no rule's pattern reaches across it. */
const SEPARATOR = "\n\n";

type Range = readonly [start: number, end: number];

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

/** One text at a time: a rule reports to whoever asked last. */
let queue: Promise<unknown> = Promise.resolve();
function findSecrets(content: string): Promise<Span[]> {
  const found = queue.then(() => scanAll(content));
  queue = found.catch(() => {});
  return found;
}

async function scanAll(content: string): Promise<Span[]> {
  const spans: Span[] = [];
  for (const { rule, scan } of await loadRules()) {
    const result = scan(content);
    // Most rules answer at once, and there are many of them.
    const ranges = result instanceof Promise ? await result : result;
    for (const [start, end] of ranges) spans.push({ start, end, rule });
  }
  return spans.sort((a, b) => a.start - b.start);
}

interface Rule {
  readonly rule: string;
  /** The ranges of the text that are secrets. */
  scan(content: string): readonly Range[] | Promise<readonly Range[]>;
}

let rules: Promise<Rule[]> | undefined;
function loadRules(): Promise<Rule[]> {
  rules ??= importRules();
  return rules;
}

/**
 * The preset's rules, made once and called directly: secretlint's own engine sets all of them up anew for each
 * text, which costs five times as much as the rules do.
 */
async function importRules(): Promise<Rule[]> {
  const { creator } = await import("@secretlint/secretlint-rule-preset-recommend");
  const made: Rule[] = [];
  creator.create(
    {
      sharedOptions: {},
      registerRule: (rule, defaults) => {
        // A rule that switches others off where a comment in the text says so. The text is the agent's.
        if (rule.meta.type === "filter" || rule.meta.id === COMMENT_FILTER) return;
        made.push(makeRule(rule as SecretLintRuleCreator, defaults?.options ?? {}));
      },
    },
    {},
  );
  return made;
}

function makeRule(creator: SecretLintRuleCreator, options: object): Rule {
  let found: Range[] = [];
  const { file } = creator.create(
    {
      sharedOptions: {},
      report: ({ range }) => found.push(range),
      ignore: () => {},
      createTranslator: () => (messageId) => ({ message: "", messageId: String(messageId), data: {} }),
    },
    options,
  );
  return {
    rule: creator.meta.id.replace(RULE_PREFIX, ""),
    scan(content) {
      found = [];
      // Rules look at the text and at what kind of file it is from; the rest is for reports by line.
      const source = { content, hasBOM: false, filePath: "record.txt", ext: ".txt", contentType: "text" };
      const pending = file?.(source as SecretLintSourceCode);
      return pending ? pending.then(() => found) : found;
    },
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
