/**
 * The summary of a task: its content, its notes about missing parts, its length, and that its text is
 * harmless.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/contract/index.ts";
import { MAX_TOKENS, type SummaryFacts, TaskSummary } from "../../../src/task/results/summary.ts";
import { called, checked, recordsOf, said, type Told, TREE } from "../../support/told-records.ts";

const FACTS: SummaryFacts = {
  task: 1,
  outcome: "done",
  branch: "holdfast/fix-login",
  unpublished: null,
  asked: "fix the login timeout",
  changed: { paths: ["api/auth.ts", "test/auth.test.ts"], files: 2, insertions: 10, deletions: 2 },
  lane: { name: "repo-fix", isReadOnly: false },
  isSandboxed: true,
  tree: TREE,
};
const EMPTY: SummaryFacts = {
  ...FACTS,
  branch: null,
  asked: null,
  changed: { paths: [], files: 0, insertions: 0, deletions: 0 },
  lane: null,
};

function summaryOf(told: readonly Told[], facts = FACTS) {
  const summary = new TaskSummary();
  for (const record of recordsOf(told)) summary.add(record);
  return summary.summary(facts);
}

const verified = (verdict: string, tree = TREE): Told => ["verification_ended", { task: 1, tree, verdict }];
const policy = (...rules: string[]): Told => [
  "policy_applied",
  { task: 1, tree: TREE, findings: rules.map((rule) => ({ rule, path: "ci.yml" })) },
];

describe("the summary of a task", () => {
  it("has what was asked, the root cause, changed files, decisions, rejected approaches, constraints and check results", () => {
    const { text } = summaryOf([
      said("Root cause: a guess that was wrong\nRejected: a longer timeout, which hides it"),
      ...called("1.1", "Bash", "error"),
      ...called("1.2", "Bash", "error"),
      ...called("1.3", "WebFetch", "refused"),
      said(
        "Done.\n\n## Root cause\n\nThe timeout was in *seconds*.\n\n- **Decision:** milliseconds everywhere",
      ),
      ...checked("npm test", true),
      verified("passed"),
      policy("binary"),
    ]);
    expect(text).toBe(`# Task 1: done, on branch \`holdfast/fix-login\`

**Asked:** fix the login timeout

**Root cause:** The timeout was in \\*seconds\\*.

**Files changed:** 2 (+10 -2): \`api/auth.ts\`, \`test/auth.test.ts\`

**Decisions:** milliseconds everywhere

**Rejected:** a longer timeout, which hides it; \`Bash\` failed 2 times; \`WebFetch\` was refused

**Constraints preserved:** lane \`repo-fix\`; in a sandbox; no protected path changed

**Validation:** passed for tree \`aaaaaaaaaaaa\`: \`npm test\` passed
`);
  });

  it("names the parts that are missing, and never reports a check that did not run as passed", () => {
    const { text } = summaryOf([], EMPTY);
    for (const line of [
      "**Asked:** nothing is on record.",
      "**Root cause:** the agent named none.",
      "**Files changed:** none.",
      "**Decisions:** none are on record.",
      "**Rejected:** none are on record.",
      "**Constraints preserved:** no lane is on record; in a sandbox; protected paths not looked at",
      "**Validation:** unverified: no checks.",
    ])
      expect(text).toContain(line);
    expect(summaryOf([verified("unverified")]).text).toContain("**Validation:** unverified: no checks.");
    expect(summaryOf([policy("protected", "mode")], { ...FACTS, isSandboxed: false }).text).toContain(
      "without a sandbox; not all: 1 protected path changed",
    );
  });

  it("does not count receipts for another tree, and shows the last result of checks that ran again", () => {
    const other = verified("passed", "b".repeat(40));
    expect(summaryOf([...checked("lint", true), other]).text).toContain(
      "passed for another tree `bbbbbbbbbbbb`, which the task did not leave: it counts for nothing",
    );
    const again = [
      ...checked("old", true),
      verified("passed"),
      ...checked("lint", false),
      verified("failed"),
    ];
    expect(summaryOf(again).text).toMatch(/\*\*Validation:\*\* failed for tree `a+`: `lint` failed\n$/);
  });

  it.each([
    ["Root cause: x", "x"],
    ["**Root cause:** x", "x"],
    ["- Root cause – x", "x"],
    ["> ROOT CAUSE: x", "x"],
    ["### Root cause\n\nx\ny", "x"],
    ["Root cause:\nx", "x"],
    ["Root causes are hard", "the agent named none."],
    ["## Root cause\n## Next", "the agent named none."],
    ["The root cause: x", "the agent named none."],
  ])("finds the root cause, if there is one, in %j", (text, found) => {
    expect(summaryOf([said(text)]).text).toContain(`**Root cause:** ${found}\n`);
  });

  it("markdown-1 shows text of an agent as plain text only", () => {
    const hostile =
      "<img src=x onerror=y> [a](http://x) ![b](//y) `c` @ani #12 &lt; www.x.y https://x.y \u202e\u001b[31m$z$ __d__";
    const { text } = summaryOf([said(`Root cause: ${hostile}\nDecision: ${hostile}`)], {
      ...FACTS,
      asked: `${hostile}\n# Task 2: done`,
      changed: { ...FACTS.changed, paths: ["a`](http://x)\n# b", "\u202e"] },
    });
    expect(text).toContain(
      "\\<img src=x onerror=y\\> \\[a\\](http\\://x) !\\[b\\](//y) \\`c\\` \\@ani \\#12 \\&lt;",
    );
    expect(text).toContain("www\\.x.y https\\://x.y \\\\u{202e}\\\\u{1b}\\[31m\\$z\\$");
    expect(text).toContain("`a\\u{60}](http://x)\\n# b`, `\\u{202e}`");
    expect(text.match(/^#/gm)).toHaveLength(1);
  });

  it("summary-1 stays within its token limit for any records, and counts the files that it leaves out", () => {
    const paths = Array.from({ length: 200 }, (_, index) => `src/a-rather-long-directory/file-${index}.ts`);
    const { text } = summaryOf([], { ...FACTS, changed: { ...FACTS.changed, paths, files: 5000 } });
    expect(text).toMatch(/`src\/a-rather-long-directory\/file-0.ts`, .*, and \d+ more\n/);
    const long = fc.oneof(
      fc.string({ unit: "binary" }),
      fc
        .tuple(fc.string({ unit: "binary" }), fc.constantFrom("a", "*", "\\", "😀", "`"))
        .map(([text, one]) => text + one.repeat(500)),
    );
    const message = fc
      .constantFrom("Root cause: ", "Decision: ", "Rejected: ", "## Root cause\n", "")
      .chain((name) => long.map((rest) => said(name + rest)));
    const value = fc.oneof(long, fc.integer(), fc.constantFrom(null, { text: "a" }, [{ rule: "protected" }]));
    const keys = [
      "role",
      "content",
      "call",
      "tool",
      "outcome",
      "check",
      "passed",
      "tree",
      "verdict",
      "findings",
    ];
    const types = [
      "message_added",
      "tool_called",
      "tool_returned",
      "check_ended",
      "verification_ended",
      "policy_applied",
    ];
    const any = fc.tuple(
      fc.constantFrom(...types),
      fc.dictionary(fc.constantFrom(...keys), value),
    ) as fc.Arbitrary<[string, JsonObject]>;
    fc.assert(
      fc.property(fc.array(fc.oneof(message, any)), fc.array(long), long, (told, names, name) => {
        const changed = {
          paths: names,
          files: names.length + 1,
          insertions: 123_456_789,
          deletions: 123_456_789,
        };
        const lane = { name, isReadOnly: true };
        const facts = {
          ...FACTS,
          asked: name,
          branch: name,
          outcome: name,
          lane,
          isSandboxed: false,
          changed,
        };
        const summary = summaryOf(told, facts);
        expect(summary.tokens).toBeLessThanOrEqual(MAX_TOKENS);
        expect(summary.tokens).toBe(Math.ceil(summary.text.length / 4));
        expect(summary.text.isWellFormed()).toBe(true);
        expect(summary.text.split("\n")).toHaveLength(16);
      }),
      { numRuns: 40 },
    );
  });
});
