/**
 * Owns the search for secrets: by our own rules, and by secretlint's recommended ones, which are made once
 * and called directly. Secretlint's own engine sets up all of them anew for each text, which takes five times
 * as long as the rules do.
 */
import type { SecretLintRuleCreator, SecretLintSourceCode } from "@secretlint/types";
import { GluedText, toWordEnds } from "./glued.ts";
import { rulesMarkedIn } from "./marks.ts";
import { findOwn } from "./own-rules.ts";
import { outermost, type Span } from "./span.ts";

const RULE_PREFIX = "@secretlint/secretlint-rule-";
/**
 * Not used: it switches other rules off where a comment in the text says so, and the text comes from the
 * agent.
 */
const COMMENT_FILTER = `${RULE_PREFIX}filter-comments`;

/**
 * Some rules look only at files of a certain name. A text with this hint may be such a file, or part of one,
 * so it is searched as that, too.
 */
const PLAIN = { filePath: "record.txt", ext: ".txt" } as const;
const DISGUISES = [
  { hint: "", ...PLAIN },
  { hint: "_auth", filePath: ".npmrc", ext: "" },
  { hint: '"auth"', filePath: ".docker/config.json", ext: ".json" },
  { hint: "private_key", filePath: "key.json", ext: ".json" },
] as const;

/** One text at a time: a rule reports to the last caller. */
let queue: Promise<unknown> = Promise.resolve();

/** Where the secrets are, in order of where they begin. */
export function findSecrets(content: string): Promise<Span[]> {
  const found = queue.then(() => scan(content));
  queue = found.catch(() => {});
  return found;
}

async function scan(content: string): Promise<Span[]> {
  const own = findOwn(content);
  const marked = rulesMarkedIn(content);
  if (marked.size === 0) return outermost(own);
  const rules = (await loadRules()).filter(({ name }) => marked.has(name));
  const spans: Span[] = [...own];
  const glued: Span[] = [];
  for (const rule of rules) {
    for (const { hint, ...file } of DISGUISES)
      if (content.includes(hint)) await look(rule, content, { ...file, content }, spans);
    await look(rule, content, { ...PLAIN, content: new GluedText(content) }, glued);
  }
  return outermost([...spans, ...toWordEnds(content, glued)]);
}

interface Source {
  readonly filePath: string;
  readonly ext: string;
  readonly content: string | GluedText;
}

async function look(rule: Rule, content: string, source: Source, spans: Span[]): Promise<void> {
  rule.begin(content, spans);
  // Rules read the text and the kind of its file. The other fields are for reports by line.
  const pending = rule.file?.({ ...source, hasBOM: false, contentType: "text" } as SecretLintSourceCode);
  // Most rules return without a promise, and there are many of them.
  if (pending) await pending;
}

interface Rule {
  readonly name: string;
  /** From now on it searches this text, and adds what it finds to these spans. */
  begin(content: string, spans: Span[]): void;
  readonly file: ((source: SecretLintSourceCode) => void | Promise<void>) | undefined;
}

let rules: Promise<Rule[]> | undefined;
function loadRules(): Promise<Rule[]> {
  rules ??= importRules();
  return rules;
}

async function importRules(): Promise<Rule[]> {
  const { creator } = await import("@secretlint/secretlint-rule-preset-recommend");
  const made: Rule[] = [];
  const registerRule = (rule: unknown, defaults?: { options?: object }) => {
    const creatorOfRule = rule as SecretLintRuleCreator;
    if (creatorOfRule.meta.id !== COMMENT_FILTER) made.push(makeRule(creatorOfRule, defaults?.options ?? {}));
  };
  creator.create({ sharedOptions: {}, registerRule }, {});
  return made;
}

function makeRule(creator: SecretLintRuleCreator, options: object): Rule {
  const name = creator.meta.id.replace(RULE_PREFIX, "");
  let content = "";
  let spans: Span[] = [];
  const { file } = creator.create(
    {
      sharedOptions: {},
      ignore: () => {},
      createTranslator: () => (messageId, data) => ({
        message: "",
        messageId: String(messageId),
        data: data ?? {},
      }),
      report: ({ range, message }) =>
        spans.push({ rule: name, start: range[0], end: wholeEnd(content, range, message.data) }),
    },
    options,
  );
  return {
    name,
    file,
    begin(nextContent, nextSpans) {
      content = nextContent;
      spans = nextSpans;
    },
  };
}

/**
 * Some rules report the beginning of the match and the length of the secret in it. The secret's own end is
 * what counts.
 */
function wholeEnd(content: string, [start, end]: readonly [number, number], data: unknown): number {
  const texts = Object.values((data ?? {}) as object).filter(
    (value) => typeof value === "string" && value.length > 0,
  );
  return texts.reduce((last: number, text: string) => {
    // Do not search all of a long text for each secret: some of these texts are descriptions of the secret.
    const at = content.slice(start, end + text.length).indexOf(text);
    return at >= 0 ? Math.max(last, start + at + text.length) : last;
  }, end);
}
