/**
 * Owns the quick check that a rule can't find anything in a text. Looking for a mark costs a fraction of
 * running the rule, and most texts have none: for those, the rules are not even loaded.
 */

/**
 * A text that every secret of the rule contains. A rule that is not listed never runs. A test compares this
 * list with the installed rules, and generates secrets from their patterns, so the preset's version is fixed
 * in package.json.
 */
export const MARKS: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  "1password": ["ops_"],
  anthropic: ["sk-ant-"],
  aws: ["SECRET", "secret", "Secret"],
  basicauth: [/:\/\/[^/\s]+@/],
  cloudflare: ["cfk_", "cfut_", "cfat_"],
  "database-connection-string": [/:\/\/[^/\s]+@/],
  databricks: ["dapi"],
  docker: ["dckr_pat_"],
  figma: ["figd_"],
  gcp: ["private_key"],
  github: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
  gitlab: ["glpat-"],
  grafana: ["glc_", "glsa_"],
  groq: ["gsk_"],
  "hashicorp-vault": ["hvs.", "hvb.", "hvr."],
  huggingface: ["hf_"],
  linear: ["lin_api_"],
  notion: ["ntn_"],
  npm: ["npm_", "_authToken="],
  openai: ["sk-"],
  privatekey: ["PRIVATE KEY"],
  sendgrid: ["SG."],
  shopify: ["shppa_", "shpca_", "shpat_", "shpss_"],
  slack: ["xoxb-", "xoxp-", "xoxa-", "xoxo-", "xoxr-", "xapp-", /hooks\.slack\.com/i],
  stripe: ["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
  tailscale: ["tskey-"],
  vercel: ["vcp_", "vci_", "vca_", "vcr_", "vck_"],
};

/** The rules that may find something. */
export function rulesMarkedIn(content: string): ReadonlySet<string> {
  const marked = new Set<string>();
  for (const [rule, marks] of Object.entries(MARKS))
    if (marks.some((mark) => (typeof mark === "string" ? content.includes(mark) : mark.test(content))))
      marked.add(rule);
  return marked;
}
