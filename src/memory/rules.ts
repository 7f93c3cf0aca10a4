/**
 * Owns the rules for secrets: secretlint's recommended ones, made once and called directly. Secretlint's own
 * engine sets all of them up anew for each text, which costs five times as much as the rules do.
 */
import type { SecretLintRuleCreator, SecretLintSourceCode } from "@secretlint/types";

const RULE_PREFIX = "@secretlint/secretlint-rule-";
/** Switches other rules off where a comment in the text says so; and the text is the agent's. */
const COMMENT_FILTER = `${RULE_PREFIX}filter-comments`;

/** A secret in a text, and the rule that found it. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly rule: string;
}

/**
 * Some rules look only at files of a certain name. A text that has the hint may be such a file's, or a part of
 * one, so it is looked at as that, too.
 */
const DISGUISES = [
  { hint: "", filePath: "record.txt", ext: ".txt" },
  { hint: "_auth", filePath: ".npmrc", ext: "" },
  { hint: '"auth"', filePath: ".docker/config.json", ext: ".json" },
  { hint: "private_key", filePath: "key.json", ext: ".json" },
] as const;

/**
 * What a secret of these rules can't be without: its maker's own mark. Looking for that costs a fraction of what
 * the rule does, and most texts have none. A rule that is not listed always runs. A test draws secrets from the
 * patterns of the rules as they are installed, so the preset's version is fixed in package.json.
 */
export const MARKS: Readonly<Record<string, readonly string[]>> = {
  "1password": ["ops_"],
  anthropic: ["sk-ant-"],
  cloudflare: ["cfk_", "cfut_", "cfat_"],
  databricks: ["dapi"],
  figma: ["figd_"],
  github: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
  gitlab: ["glpat-"],
  grafana: ["glc_", "glsa_"],
  groq: ["gsk_"],
  "hashicorp-vault": ["hvs.", "hvb.", "hvr."],
  huggingface: ["hf_"],
  linear: ["lin_api_"],
  notion: ["ntn_"],
  openai: ["sk-"],
  sendgrid: ["SG."],
  shopify: ["shppa_", "shpca_", "shpat_", "shpss_"],
  stripe: ["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
  tailscale: ["tskey-"],
  vercel: ["vcp_", "vci_", "vca_", "vcr_", "vck_"],
};

/** One text at a time: a rule reports to whoever asked last. */
let queue: Promise<unknown> = Promise.resolve();

/** Where the secrets are, in order of where they begin. */
export function findSecrets(content: string): Promise<Span[]> {
  const found = queue.then(() => scan(content));
  queue = found.catch(() => {});
  return found;
}

async function scan(content: string): Promise<Span[]> {
  const spans: Span[] = [];
  const rules = await loadRules();
  for (const { hint, filePath, ext } of DISGUISES) {
    if (!content.includes(hint)) continue;
    const source = { content, hasBOM: false, filePath, ext, contentType: "text" };
    for (const rule of rules) {
      if (rule.marks && !rule.marks.some((mark) => content.includes(mark))) continue;
      rule.begin(content, spans);
      // Rules look at the text and at what kind of file it is from; the rest is for reports by line.
      const pending = rule.file?.(source as SecretLintSourceCode);
      // Most rules answer at once, and there are many of them.
      if (pending) await pending;
    }
  }
  return spans.sort((a, b) => a.start - b.start);
}

interface Rule {
  readonly marks: readonly string[] | undefined;
  /** What it finds from now on is of this text, and goes into these spans. */
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
  const rule = creator.meta.id.replace(RULE_PREFIX, "");
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
        spans.push({ rule, start: range[0], end: wholeEnd(content, range, message.data) }),
    },
    options,
  );
  return {
    file,
    marks: MARKS[rule],
    begin(nextContent, nextSpans) {
      content = nextContent;
      spans = nextSpans;
    },
  };
}

/** Some rules report where the match begins and how long the secret in it is: the secret's own end is what counts. */
function wholeEnd(content: string, [start, end]: readonly [number, number], data: unknown): number {
  const texts = Object.values((data ?? {}) as object).filter(
    (value) => typeof value === "string" && value.length > 0,
  );
  return texts.reduce((last: number, text: string) => {
    const at = content.indexOf(text, start);
    return at >= 0 && at <= end ? Math.max(last, at + text.length) : last;
  }, end);
}
